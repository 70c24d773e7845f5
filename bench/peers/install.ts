import { execFile } from 'node:child_process'
import { cp, mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Size of an installation on disk, in MB, and its packages. */
export interface Installed {
  /** Installed versions by package name, of the packages that the product asks for. */
  versions: Record<string, string>
  packages: number
  mb: number
  /** Part of `mb` that is a copy of Node. */
  nodeMb: number
}

interface LockFile {
  packages: Record<string, { version?: string }>
}

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const readJson = async <Value>(file: string) => JSON.parse(await readFile(file, 'utf8')) as Value

/** Folder in which a peer is installed. */
export function installedFolder(name: string): string {
  return path.join(root, 'node_modules/.cache/bench-peers', name)
}

/** Installs the packages that the lock file of the peer names, unless they are installed. No script of a package is run. */
export async function installPeer(name: string): Promise<Installed> {
  const source = fileURLToPath(new URL(name, import.meta.url))
  await install(source, installedFolder(name), [])
  await cp(path.join(source, 'server.mjs'), path.join(installedFolder(name), 'server.mjs'))
  return measure(installedFolder(name))
}

/** Installs the packages of Agent Core as users get them, to measure the installation. The service itself runs from the checkout. */
export async function installAgentCore(): Promise<Installed> {
  const folder = installedFolder('agent-core')
  await install(root, folder, ['--omit=dev'])
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, maxBuffer: 16 * 1024 * 1024 })
  const [packed] = JSON.parse(stdout) as { version: string; unpackedSize: number }[]
  const { packages, mb, nodeMb } = await measure(folder)
  return { versions: { 'agent-core': packed!.version }, packages: packages + 1, mb: mb + packed!.unpackedSize / 1024 ** 2, nodeMb }
}

async function install(source: string, folder: string, args: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true })
  const lockFile = await readFile(path.join(source, 'package-lock.json'), 'utf8')
  // npm writes this file after everything else.
  const isComplete = await readFile(path.join(folder, 'node_modules/.package-lock.json')).then(
    () => true,
    () => false,
  )
  const installedLock = await readFile(path.join(folder, 'package-lock.json'), 'utf8').catch(() => undefined)
  if (isComplete && installedLock === lockFile) return
  for (const file of ['package.json', 'package-lock.json']) await cp(path.join(source, file), path.join(folder, file))
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', ...args], { cwd: folder, maxBuffer: 16 * 1024 * 1024 })
}

async function measure(folder: string): Promise<Installed> {
  const { dependencies } = await readJson<{ dependencies: Record<string, string> }>(path.join(folder, 'package.json'))
  const modules = path.join(folder, 'node_modules')
  const { packages } = await readJson<LockFile>(path.join(modules, '.package-lock.json'))
  const versionOf = (name: string) => packages[`node_modules/${name}`]?.version ?? 'not installed'
  const nodes = Object.keys(packages).filter((name) => /^node_modules\/node-(linux|darwin|win)/.test(name))
  const nodeMbs = await Promise.all(nodes.map((name) => diskMb(path.join(folder, name))))
  return {
    versions: Object.fromEntries(Object.keys(dependencies).map((name) => [name, versionOf(name)])),
    packages: Object.keys(packages).length,
    mb: await diskMb(modules),
    nodeMb: nodeMbs.reduce((sum, mb) => sum + mb, 0),
  }
}

async function diskMb(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sk', folder])
  return Number(stdout.split('\t')[0]) / 1024
}
