import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Markdown is for programs, most of which ask for no encoding. */
const compressible = /\.(js|css|svg|json|txt|wasm|ttf)$/
/** A smaller file takes six packets at most as it is. */
const minBytes = 8_000

/** Writes `<name>.br` and `<name>.gz` beside each larger text file of a folder, at the highest level. Files that compression makes larger are left alone. */
export async function compressFiles(folder: string): Promise<void> {
  const files = globSync('**/*', { cwd: folder }).filter((name) => compressible.test(name))
  await Promise.all(files.map((name) => compressFile(path.join(folder, name))))
}

async function compressFile(file: string): Promise<void> {
  const bytes = await readFile(file)
  if (bytes.length < minBytes) return
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }
  const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes, brotli), promisify(gzip)(bytes, { level: 9 })])
  if (br.length < bytes.length) await writeFile(`${file}.br`, br)
  if (gz.length < bytes.length) await writeFile(`${file}.gz`, gz)
}
