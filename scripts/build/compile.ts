import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { compressFiles } from './compress.ts'
import { rewriteDeclarations } from './declarations.ts'

/** Compiles service, client and console into `target`, side by side. Throws an error with the output of a compiler that fails. */
export async function compile(root: string, target: string): Promise<void> {
  await Promise.all([compileService(root, target), writeDeclarations(root, target), bundleConsole(root, target)])
}

/** True where the compilers are installed; an installation without development packages lacks them. */
export function hasCompilers(root: string): boolean {
  return existsSync(path.join(root, 'node_modules/typescript'))
}

function compileService(root: string, target: string): Promise<void> {
  return run(root, 'typescript', 'tsc', ['-p', path.join(import.meta.dirname, 'service.json'), '--outDir', target])
}

async function writeDeclarations(root: string, target: string): Promise<void> {
  await run(root, 'typescript', 'tsc', ['-p', path.join(import.meta.dirname, 'declarations.json'), '--outDir', target])
  await rewriteDeclarations(target)
}

async function bundleConsole(root: string, target: string): Promise<void> {
  if (!existsSync(path.join(root, 'console/vite.config.ts'))) return
  const folder = path.join(target, 'console')
  await run(root, 'vite', 'vite', ['build', 'console', '--outDir', folder, '--emptyOutDir', '--logLevel', 'warn'])
  await compressFiles(folder)
}

/** Runs the program of a package. */
async function run(root: string, packageName: string, program: string, args: readonly string[]): Promise<void> {
  const packageFile = createRequire(path.join(root, 'package.json')).resolve(`${packageName}/package.json`)
  const { bin } = createRequire(packageFile)(packageFile) as { bin: Record<string, string> }
  const entry = path.join(path.dirname(packageFile), bin[program]!)
  const child = spawn(process.execPath, [entry, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${program} failed:\n${output.trim()}`)
}
