import { mkdir, readFile, stat, mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Command } from 'commander'
import { fieldsOf, parseJson } from '../json/shape.ts'
import { formatEntry } from './tool/add-tool.ts'
import { projectFiles, sampleEntry, sampleQuestion, type ProjectFile, type ProgramPackage } from './project-files.ts'
import { CommandFailure, type CommandContext, type Terminal } from './terminal.ts'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { packageRoot } from '../package-root.ts'

/** Adds the command that makes the folder of a new agent. */
export function addInit(program: Command, { terminal }: CommandContext): void {
  program
    .command('init')
    .description(
      'Make the folder of a new agent: agent.yaml, sample files, a tool, package.json, compose.yaml. Existing files stay as they are.',
    )
    .argument('[dir]', 'the folder', '.')
    .action(async (dir: string) => init(path.resolve(terminal.cwd, dir), terminal))
}

async function init(folder: string, terminal: Terminal): Promise<void> {
  const print = (line = '') => terminal.stdout.write(`${line}\n`)
  const isFile = (await stat(folder).catch(() => undefined))?.isDirectory() === false
  if (isFile) throw new CommandFailure(1, [`${folder} is a file. Name a folder, or a new one.`])
  const program = await packProgram(folder, print)
  await mkdir(path.join(folder, 'tools'), { recursive: true })
  print(`Creating in ${folder}:`)
  const existing = await createFiles(projectFiles(folder, program), print)
  const shown = path.relative(terminal.cwd, folder)
  if (existing.length > 0) print(`Left as they were: ${existing.join(', ')}`)
  const unignored = existing.includes('.gitignore') ? await findUnignored(folder) : []
  if (unignored.length > 0) print(`Add to .gitignore, because they hold keys and passwords: ${unignored.join(', ')}`)
  const isOwnAgent = existing.includes('agent.yaml')
  if (isOwnAgent && !existing.includes(`tools/${sampleEntry.name}.ts`))
    print(`To use the sample tool, add to "tools" in agent.yaml:\n  ${formatEntry(sampleEntry)}`)
  print('\nNext, with Node.js 24 or later:')
  if (shown !== '') print(`  cd ${quoteForShell(shown)}`)
  const { dependencies, scripts } = await readPackage(folder)
  // An image can only be built from the tarball in the folder.
  print(dependencies['agent-core'] === `file:${program.name}` ? '  npm install' : `  npm install ./${program.name}`)
  print(scripts['start'] === undefined ? '  npx --no-install agent-core serve' : '  npm start')
  if (!isOwnAgent) print(`  npx --no-install agent-core chat --message "${sampleQuestion}"`)
  print('Or with Postgres in containers:')
  print('  docker compose up --build')
}

/** Prints each file when it has been created. Returns the names of files that existed. */
async function createFiles(files: readonly ProjectFile[], print: (line: string) => void): Promise<string[]> {
  const width = Math.max(...files.map(({ name }) => name.length))
  const existing: string[] = []
  for (const { name, purpose, create } of files) {
    if (await create()) print(`  ${name.padEnd(width)}  ${purpose}`.trimEnd())
    else existing.push(name)
  }
  if (existing.length === files.length) print('  nothing, because everything is there')
  return existing
}

/** What holds secrets and is no line of .gitignore. */
async function findUnignored(folder: string): Promise<string[]> {
  const lines = (await readFile(path.join(folder, '.gitignore'), 'utf8').catch(() => '')).split('\n')
  const names = new Set(lines.map((line) => line.trim().replaceAll(/^\/|\/$/g, '')))
  return ['.env', '.agent-core'].filter((name) => !names.has(name))
}

interface PackageFile {
  dependencies: Record<string, unknown>
  scripts: Record<string, unknown>
}

/** A file that is no JSON object counts as empty: npm says what is wrong with the file. */
async function readPackage(folder: string): Promise<PackageFile> {
  const { dependencies, scripts } = fieldsOf(parseJson(await readFile(path.join(folder, 'package.json'), 'utf8')))
  return { dependencies: fieldsOf(dependencies), scripts: fieldsOf(scripts) }
}

function quoteForShell(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/**
 * Packs this program as npm publishes it, unless the project has the tarball. A checkout is built first, if its sources have changed. Throws
 * a `CommandFailure` if npm fails.
 */
async function packProgram(project: string, print: (line: string) => void): Promise<ProgramPackage> {
  const { version, devDependencies } = JSON.parse(await readFile(path.join(packageRoot, 'package.json'), 'utf8')) as ProgramFile
  const name = `agent-core-${version}.tgz`
  const isThere = existsSync(path.join(project, name))
  if (!isThere) print(`Packing Agent Core ${version}, which takes some seconds ...`)
  const content = isThere ? undefined : await pack(name)
  return { name, content, nodeTypes: devDependencies['@types/node']! }
}

interface ProgramFile {
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
