"""Fourier transforms, which minigrad leaves to PyTorch: they compute with complex numbers."""

from minigrad._base.optional import left_out

WHY = "minigrad has no complex numbers; numpy.fft transforms `tensor.numpy()`, without a gradient"
globals().update(left_out(__name__, WHY, """
    fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq
    rfftn
"""))
