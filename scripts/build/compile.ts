import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { compressFiles } from './compress.ts'
import { rewriteDeclarations } from './declarations.ts'
import { buildDocumentation } from './documentation.ts'
import { runNode } from './run-node.ts'

/** Compiles service, client, console and documentation into `target`, side by side. Throws an error with the output of a compiler that fails. */
export async function compile(root: string, target: string): Promise<void> {
  await Promise.all([buildService(root, target), bundleConsole(root, target), copyDocumentation(root, target)])
}

async function buildService(root: string, target: string): Promise<void> {
  await Promise.all([compileService(root, target), writeDeclarations(root, target)])
  if (!existsSync(path.join(root, 'src/main.ts'))) return
  // Imported on demand: an installation without development packages lacks the bundler.
  const { bundleService } = await import('./bundle.ts')
  await bundleService(root, target)
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

async function copyDocumentation(root: string, target: string): Promise<void> {
  if (!existsSync(path.join(root, 'docs/.vitepress'))) return
  await cp(await buildDocumentation(root), path.join(target, 'docs'), { recursive: true })
}

/** Runs the program of a package. */
async function run(root: string, packageName: string, program: string, args: readonly string[]): Promise<void> {
  const packageFile = createRequire(path.join(root, 'package.json')).resolve(`${packageName}/package.json`)
  const { bin } = createRequire(packageFile)(packageFile) as { bin: Record<string, string> }
  await runNode(root, program, [path.join(path.dirname(packageFile), bin[program]!), ...args])
}
