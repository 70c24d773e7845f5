import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { installed, makeFolder } from '../fixtures/process.ts'
import { runBlocks } from './run-blocks.ts'

const root = path.join(import.meta.dirname, '../..')
export const examples = path.join(root, 'examples')

const isReady = existsSync(path.join(examples, 'node_modules/.package-lock.json')) && existsSync(path.join(root, 'dist/src/main.js'))
const isSkipped = !isReady && process.env['CI'] !== 'true'

/** A test of examples. It is skipped where their packages or the build are missing, except in CI. */
export function exampleTest(title: string, run: (t: TestContext) => Promise<void>): void {
  void test(title, { skip: isSkipped && 'Run `npm ci --prefix examples --ignore-scripts` and `npm run build`.' }, run)
}

/** Makes a folder like a checkout: `agent-core` as an installed command, and `examples/` with its packages. */
export async function makeCheckout(t: TestContext): Promise<string> {
  const folder = await makeFolder(t)
  await Promise.all([mkdir(path.join(folder, 'examples')), mkdir(path.join(folder, 'node_modules/.bin'), { recursive: true })])
  await symlink(path.join(examples, 'node_modules'), path.join(folder, 'examples/node_modules'))
  await symlink(installed, path.join(folder, 'node_modules/.bin/agent-core'))
  return folder
}

const isCopied = (source: string) => !/node_modules|\.agent-core|\.env$/.test(source)

/** Copies an example into a checkout. `ports` replaces port numbers in its files: the examples have fixed ones. */
export async function copyExample(checkout: string, name: string, ports: Readonly<Record<number, number>>): Promise<string> {
  const folder = path.join(checkout, 'examples', name)
  await cp(path.join(examples, name), folder, { recursive: true, filter: isCopied })
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    const text = await readFile(file, 'utf8')
    const replaced = Object.entries(ports).reduce(
      (result, [from, to]) => result.replaceAll(new RegExp(`\\b${from}\\b`, 'g'), String(to)),
      text,
    )
    if (replaced !== text) await writeFile(file, replaced)
  }
  return folder
}

/** Runs every command of the README in the folder of its example, and compares what is printed with the page. */
export async function runReadme(t: TestContext, folder: string, environment: Record<string, string> = {}): Promise<void> {
  const readme = await readFile(path.join(folder, 'README.md'), 'utf8')
  assert.ok(await runBlocks(t, { folder, readme, environment }), 'the page has commands')
}
