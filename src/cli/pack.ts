import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from '../package-root.ts'
import type { ProgramPackage } from './project-files.ts'
import { CommandFailure } from './terminal.ts'

/**
 * Packs this program as npm publishes it, unless the project has the tarball. A checkout is built first, if its sources have changed. Throws
 * a `CommandFailure` if npm fails.
 */
export async function packProgram(project: string, print: (line: string) => void): Promise<ProgramPackage> {
  const { version, devDependencies } = JSON.parse(await readFile(path.join(packageRoot, 'package.json'), 'utf8')) as PackageFile
  const name = `agent-core-${version}.tgz`
  const isThere = existsSync(path.join(project, name))
  if (!isThere) print(`Packing Agent Core ${version}, which takes some seconds ...`)
  const content = isThere ? undefined : await pack(name)
  return { name, content, nodeTypes: devDependencies['@types/node']! }
}

interface PackageFile {
  version: string
  devDependencies: Record<string, string>
}

async function pack(name: string): Promise<Uint8Array> {
  // Only a checkout has the scripts that npm runs before it packs.
  const options = existsSync(path.join(packageRoot, 'scripts/build')) ? [] : ['--ignore-scripts']
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-pack-'))
  try {
    await promisify(execFile)('npm', ['pack', '--silent', '--pack-destination', folder, ...options], { cwd: packageRoot })
    return await readFile(path.join(folder, name))
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    throw new CommandFailure(1, ['npm cannot pack this program; nothing was created.', stderr.trim() || message])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
