"""Archives of models and their code, which minigrad leaves to PyTorch."""

from minigrad._base.optional import left_out

WHY = "minigrad packs no code; `minigrad.save` writes the state dict"
globals().update(left_out(__name__, WHY, """
    Directory EmptyMatchError GlobGroup Importer ObjMismatchError ObjNotFoundError OrderedImporter PackageExporter
    PackageImporter PackagingError is_from_package sys_importer
"""))
