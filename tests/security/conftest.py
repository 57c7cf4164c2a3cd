import hashlib
import json
import zipfile

import pytest
import skops.io

from groupwise import SBoostClassifier
from groupwise.io.model_file import FORMAT


class Crafted:
    """Writes model files whose header and digest are in order, whatever they hold."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, schema, members=None, *, header=None, deflate=(), name="crafted.skops"):
        path = self.folder / name
        content = {"schema.json": json.dumps(schema) if isinstance(schema, dict) else schema}
        content |= members or {}
        digest = hashlib.sha256()
        with zipfile.ZipFile(path, "w") as file:
            for member in sorted(content):
                data = content[member]
                data = data.encode() if isinstance(data, str) else data
                how = zipfile.ZIP_DEFLATED if member in deflate else zipfile.ZIP_STORED
                file.writestr(member, data, how)
                digest.update(member.encode() + b"\0" + hashlib.sha256(data).digest())
            right = {
                "format": FORMAT,
                "versions": {"groupwise": "0.2.0"},
                "digest": digest.hexdigest(),
            }
            file.writestr("groupwise.json", json.dumps(right | (header or {})))
        return path

    @staticmethod
    def schema(model=None):
        """The tree of a real model, and its other members."""
        import io

        with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model or SBoostClassifier()))) as file:
            members = {name: file.read(name) for name in file.namelist()}
        return json.loads(members.pop("schema.json")), members


def node(loader, name, **more):
    module, _, cls = name.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": cls, **more}


@pytest.fixture
def craft(tmp_path):
    return Crafted(tmp_path)


@pytest.fixture
def make_node():
    return node
