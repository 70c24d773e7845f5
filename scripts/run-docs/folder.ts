import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

export const checkout = path.join(import.meta.dirname, '../..')
const program = path.join(checkout, 'bin/agent-core.mjs')

/** Temporary folders of one invocation. */
export interface Workspace {
  /** Creates the folder in which the commands of a page run, and another one for its second run. */
  createFolder(page: string): Promise<string>
  /** Folder before others on the path: `npx --no-install agent-core` and `agent-core` run the build of the checkout. */
  commands: string
  remove(): Promise<void>
}

/** Packages of the examples that pages import as well. They are not among those of the checkout. */
const exampleModules = ['ai', '@ai-sdk/openai-compatible', '@langchain/anthropic', '@langchain/core', '@langchain/openai']

async function linkModule(folder: string, name: string): Promise<void> {
  await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
  await symlink(path.join(checkout, 'examples/node_modules', name), path.join(folder, name))
}

/** Makes the packages of the checkout known below `root/pages`. The package `agent-core` is the checkout itself, with its build. */
export async function linkPackages(root: string): Promise<void> {
  const own = path.join(root, 'pages/node_modules')
  await mkdir(own, { recursive: true })
  await symlink(path.join(checkout, 'node_modules'), path.join(root, 'node_modules'))
  await symlink(checkout, path.join(own, 'agent-core'))
  for (const name of exampleModules) await linkModule(own, name)
  // The client alone, as its own package holds it.
  const client = path.join(own, '@agent-core/client')
  await mkdir(client, { recursive: true })
  await copyFile(path.join(checkout, 'client/package.json'), path.join(client, 'package.json'))
  await symlink(path.join(checkout, 'dist/client/src'), path.join(client, 'dist'))
}

export async function createWorkspace(): Promise<Workspace> {
  const root = await mkdtemp(path.join(tmpdir(), 'agent-core-docs-'))
  const commands = path.join(root, 'commands')
  await mkdir(commands)
  await linkPackages(root)
  const run = `exec ${JSON.stringify(process.execPath)} ${JSON.stringify(program)} "$@"`
  await writeCommand(path.join(commands, 'agent-core'), run)
  const skipOptions = 'while [ "$1" = --no-install ] || [ "$1" = --no ]; do shift; done'
  const npx = path.join(path.dirname(process.execPath), 'npx')
  await writeCommand(
    path.join(commands, 'npx'),
    `${skipOptions}\n[ "$1" = agent-core ] && shift && ${run}\nexec ${JSON.stringify(npx)} "$@"`,
  )
  await symlink(process.execPath, path.join(commands, 'node'))
  const created = new Set<string>()
  return {
    commands,
    async createFolder(page) {
      const name = page.replace(/\.md$/, '').replaceAll('/', '-').toLowerCase()
      const folder = path.join(root, 'pages', created.has(name) ? `${name}-again` : name)
      created.add(name)
      await mkdir(folder, { recursive: true })
      return folder
    },
    remove: () => rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
  }
}

async function writeCommand(file: string, lines: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${lines}\n`)
  await chmod(file, 0o755)
}
