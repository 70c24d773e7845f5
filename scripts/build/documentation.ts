import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { compressFiles } from './compress.ts'
import { runNode } from './run-node.ts'

const sources = ['docs/**/*', 'docs/.vitepress/**/*', 'scripts/build/documentation*.ts', 'scripts/build/compress.ts', 'package-lock.json']

/**
 * Builds the documentation site, unless a build of the same sources is there, because a build takes several seconds. Returns the folder of the
 * build, which must not be changed.
 */
export async function buildDocumentation(root: string): Promise<string> {
  const cache = path.join(root, 'node_modules/.cache/docs')
  const name = hashDocumentation(root)
  const folder = path.join(cache, name)
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const older = (await readdir(cache)).filter((entry) => !entry.startsWith('draft-'))
  const draft = await mkdtemp(path.join(cache, 'draft-'))
  try {
    const site = path.join(draft, 'site')
    await runNode(root, 'The documentation', [
      path.join(import.meta.dirname, 'documentation-process.ts'),
      site,
      path.join(draft, 'temporary'),
    ])
    await compressFiles(site)
    // Builds may run at the same time: the first one stays.
    await rename(site, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
    for (const entry of older) await rm(path.join(cache, entry), { recursive: true, force: true })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return folder
}

function hashDocumentation(root: string): string {
  const hash = createHash('sha256')
  const entries = globSync(sources, { cwd: root, withFileTypes: true }).filter((entry) => entry.isFile())
  const files = entries.map(({ parentPath, name }) => path.relative(root, path.join(parentPath, name)))
  for (const file of new Set(files.toSorted())) {
    const content = readFileSync(path.join(root, file))
    hash.update(`${file}\n${content.length}\n`).update(content)
  }
  return hash.digest('hex').slice(0, 24)
}
