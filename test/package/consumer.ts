import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from '../../src/package-root.ts'

const run = promisify(execFile)

/** Packs the checkout into a folder, as npm would publish it. Returns the path of the tarball and the names of its files. */
export async function packCheckout(folder: string): Promise<{ tarball: string; files: string[] }> {
  await run(process.execPath, [path.join(packageRoot, 'scripts/build/run.ts'), '--if-changed'])
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await run('npm', args, { cwd: packageRoot, maxBuffer: 16 * 1024 * 1024 })
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[]
  return { tarball: path.join(folder, packed!.filename), files: packed!.files.map((file) => file.path) }
}

/**
 * Installs a tarball into an empty project, without the network. The packages that it depends on are put there first, as hard links to
 * those of the checkout, so npm has only this package to unpack, and fails if a dependency is missing. Returns what npm printed.
 */
export async function installInto(folder: string, tarball: string): Promise<string> {
  const lock = await readLock()
  await linkPackages(folder, Object.keys(lock))
  await writeJson(folder, 'package.json', project)
  await writeJson(folder, 'package-lock.json', { ...project, lockfileVersion: 3, requires: true, packages: { '': project, ...lock } })
  // `npm run -s`, by which tests may be started, makes the npm below it silent.
  const args = ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=notice', tarball]
  const { stdout, stderr } = await run('npm', args, { cwd: folder })
  // Settings of this machine are not the concern of the package.
  return `${stdout}${stderr}`.replaceAll(/^npm warn Unknown \w+ config .+\n/gm, '').trim()
}

const project = { name: 'consumer', version: '1.0.0', private: true, type: 'module' }

async function writeJson(folder: string, name: string, value: object): Promise<void> {
  await writeFile(path.join(folder, name), JSON.stringify(value))
}

/** Entries of the lock file for the packages that an installation gets, by their path. */
async function readLock(): Promise<Record<string, object>> {
  const { packages } = JSON.parse(await readFile(path.join(packageRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; link?: true }>
  }
  return Object.fromEntries(Object.entries(packages).filter(([place, { dev, link }]) => place.startsWith('node_modules/') && !dev && !link))
}

/** Links packages that are installed in the checkout, and their programs. A package has the packages below it. */
async function linkPackages(folder: string, places: readonly string[]): Promise<void> {
  const sources = new Map<string, string[]>()
  for (const place of places) {
    const source = path.join(packageRoot, place)
    if (place.lastIndexOf('node_modules/') > 0 || !existsSync(source)) continue
    const parent = path.join(folder, path.dirname(place))
    sources.set(parent, [...(sources.get(parent) ?? []), source])
  }
  for (const [parent, group] of sources) {
    await mkdir(parent, { recursive: true })
    // Hard links are refused where the folder is on another file system.
    await run('cp', ['-al', ...group, parent]).catch(() => run('cp', ['-a', ...group, parent]))
  }
  const programs = path.join(folder, 'node_modules/.bin')
  const ownPrograms = path.join(packageRoot, 'node_modules/.bin')
  await mkdir(programs)
  for (const name of await readdir(ownPrograms)) {
    const target = await readlink(path.join(ownPrograms, name))
    if (existsSync(path.join(programs, target))) await symlink(target, path.join(programs, name))
  }
}
