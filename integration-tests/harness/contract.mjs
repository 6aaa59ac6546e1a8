// The .proto files as descriptors.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

function readContract() {
  const root = fileURLToPath(new URL('../../proto', import.meta.url));
  const protos = fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith('.proto'));
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'kndl-contract-'));
  try {
    const file = path.join(folder, 'set');
    execFileSync('protoc', ['-I', root, '--include_imports', `--descriptor_set_out=${file}`, ...protos],
      { stdio: 'ignore' });
    return createFileRegistry(fromBinary(FileDescriptorSetSchema, fs.readFileSync(file)));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

export const registry = readContract();
