"""The layer between a call of an op and its formula: argument parsing, promotion, devices, `out=`."""

# ruff: noqa: F403 - what ops use; each name is explained in its own module

from minigrad.ops._dispatch.device_guard import same_device as same_device
from minigrad.ops._dispatch.device_guard import together as together
from minigrad.ops._dispatch.device_guard import where_is as where_is
from minigrad.ops._dispatch.elementwise import *
from minigrad.ops._dispatch.memory_order import in_format_of as in_format_of
from minigrad.ops._dispatch.memory_order import in_order_of as in_order_of
from minigrad.ops._dispatch.memory_order import row_by_row as row_by_row
from minigrad.ops._dispatch.registration import op as op
from minigrad.ops._dispatch.registration import tensor_method as tensor_method
from minigrad.ops._dispatch.type_promotion import *
