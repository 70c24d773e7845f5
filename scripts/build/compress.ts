import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const compressible = /\.(js|css|svg|json|txt|md|wasm|ttf)$/

/** Writes `<name>.br` and `<name>.gz` beside each text file of a folder, at the highest level. Files that compression makes larger are left alone. */
export async function compressFiles(folder: string): Promise<void> {
  const files = globSync('**/*', { cwd: folder }).filter((name) => compressible.test(name))
  await Promise.all(files.map((name) => compressFile(path.join(folder, name))))
}

async function compressFile(file: string): Promise<void> {
  const bytes = await readFile(file)
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }
  const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes, brotli), promisify(gzip)(bytes, { level: 9 })])
  if (br.length < bytes.length) await writeFile(`${file}.br`, br)
  if (gz.length < bytes.length) await writeFile(`${file}.gz`, gz)
}
