import { access, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import { pino } from 'pino'
import { runTool, type Tool } from '../agent/tool.ts'
import type { JsonObject } from '../agent/messages.ts'
import { editYaml } from '../configuration/change/edit-yaml.ts'
import { isReserved } from '../configuration/check.ts'
import { formatProblems } from '../configuration/load.ts'
import { toAgentConfig } from '../configuration/parse.ts'
import { ConfigError } from '../configuration/problems.ts'
import { readYaml } from '../configuration/yaml-source.ts'
import { packageRoot } from '../package-root.ts'
import { createConfigurationFile } from '../store/disk/configuration-file.ts'
import { toolDefaults } from '../tools/builder.ts'
import { createModule } from '../tools/module/module.ts'
import { addChangedTools } from './changed-tools.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type CommandContext, type Terminal } from './terminal.ts'
import { editorSettings, templateInput, toolTemplate } from './tool-template.ts'
import { isObject } from '../json/shape.ts'

/** Adds commands that create and try out tools written by the operator. */
export function addTool(program: Command, context: CommandContext): void {
  const { terminal } = context
  const tool = program.command('tool').description('Create and check your own tools; accept changed tools of MCP servers.')
  addChangedTools(tool, context)

  tool
    .command('new')
    .description('Write a TypeScript file with a working tool as a starting point.')
    .argument('<name>', 'name of the tool and its file', toToolName)
    .option('--dir <folder>', 'folder for the file (default: tools, next to agent.yaml)')
    .option('--add', 'also add the tool to agent.yaml')
    .action(async (name: string, options: NewOptions) => createTool(terminal, name, options))

  tool
    .command('check <file>')
    .description('Load a file and show its tool, or the errors with their lines.')
    .option('--input <json>', 'call the tool once with this input')
    .addHelpText('after', '\nFiles created by the tool are listed, but not stored.')
    .action(async (file: string, { input }: { input?: string }) => checkTool(terminal, path.resolve(terminal.cwd, file), input))
}

interface NewOptions {
  dir?: string
  add?: boolean
}

function toToolName(name: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name))
    throw new InvalidArgumentError('A name must begin with a letter and have 1 to 64 letters, digits, "_" and "-".')
  if (isReserved(name)) throw new InvalidArgumentError('The agent uses this name itself; choose another.')
  return name
}

async function createTool(terminal: Terminal, name: string, { dir, add }: NewOptions): Promise<void> {
  const settings = readSettings(terminal)
  const configDir = path.dirname(settings.agentConfig)
  const folder = dir === undefined ? path.join(configDir, 'tools') : path.resolve(terminal.cwd, dir)
  const file = path.join(folder, `${name}.ts`)
  const entry = { name, type: 'module', config: { path: toEntryPath(path.relative(configDir, file)) } }
  const display = (target: string) => path.relative(terminal.cwd, target) || target
  const print = (line = '') => terminal.stdout.write(`${line}\n`)
  // The entry is checked before any file is written.
  const change = add ? await addEntry(settings.agentConfig, entry) : undefined
  await mkdir(folder, { recursive: true })
  if (!(await writeNew(file, toolTemplate))) throw new CommandFailure(1, [`${display(file)} already exists; nothing was changed.`])
  print(`created ${display(file)}`)
  const forEditors = path.join(folder, 'tsconfig.json')
  if (await writeNew(forEditors, await settingsForEditors(folder))) print(`created ${display(forEditors)}, by which editors find the types`)
  if (change) {
    await createConfigurationFile(settings.agentConfig, settings.dataDir).replace(change.text, change.next)
    print(`added ${name} to ${display(settings.agentConfig)}`)
  } else {
    print(`\nAdd this entry to "tools" in ${display(settings.agentConfig)} (--add does so):\n`)
    print(`  - { name: ${name}, type: module, config: { path: ${entry.config.path} } }`)
  }
  print(`\nTry it: agent-core tool check ${display(file)} --input '${JSON.stringify(templateInput)}'`)
  print('A running service uses the tool once its configuration has the entry, and then each change that you save.')
}

/** Includes the types of Node in a checkout, which has them installed. */
async function settingsForEditors(folder: string): Promise<string> {
  const relative = (file: string) => {
    const relativePath = path.relative(folder, file).split(path.sep).join('/')
    return relativePath.startsWith('.') ? relativePath : `./${relativePath}`
  }
  const nodeTypes = path.join(packageRoot, 'node_modules/@types')
  const hasTypes = await access(path.join(nodeTypes, 'node')).then(
    () => true,
    () => false,
  )
  const types = path.join(import.meta.dirname, `../tool-module${import.meta.filename.endsWith('.ts') ? '.ts' : '.d.ts'}`)
  return editorSettings(relative(types), hasTypes ? relative(nodeTypes) : undefined)
}

/** Writes a new file; false if the file already exists. */
async function writeNew(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

function toEntryPath(relative: string): string {
  return relative.startsWith('..') ? relative : `./${relative}`
}

/** The text of the configuration before and after the addition of an entry. */
async function addEntry(file: string, entry: { name: string }): Promise<{ text: string; next: string }> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new CommandFailure(1, [
      `${file} does not exist; "agent-core serve --init" creates one. Without --add only the file of the tool is created.`,
    ])
  })
  try {
    const { value } = readYaml(text)
    const before = isObject(value) ? value : {}
    const tools = Array.isArray(before['tools']) ? (before['tools'] as unknown[]) : []
    const after = { ...before, tools: [...tools, entry] }
    toAgentConfig(after)
    return { text, next: editYaml(text, before, after) }
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailure(1, formatProblems(file, error))
    throw error
  }
}

async function checkTool(terminal: Terminal, file: string, input: string | undefined): Promise<void> {
  const print = (line: string) => terminal.stdout.write(`${line}\n`)
  const parsedInput = input === undefined ? undefined : parseInput(input)
  const log = pino({ level: 'info' }, { write: (text: string) => printModuleOutput(terminal, text) })
  const spec = { name: path.parse(file).name, ...toolDefaults, config: { path: file } }
  const group = await createModule(spec, { configDir: path.dirname(file), environment: terminal.environment, log })
  try {
    const unavailableReason = group.unavailableReason?.()
    if (unavailableReason !== undefined) throw new CommandFailure(1, [unavailableReason])
    for (const tool of group.tools()) {
      print(`ok: ${tool.name} (${tool.effect}${tool.filters ? ', obeys data filters' : ''}): ${tool.description}`)
      print(parsedInput ? await callOnce(tool, parsedInput, terminal.stopping, print) : JSON.stringify(tool.schema, undefined, 2))
    }
  } finally {
    await group.close?.()
  }
}

function parseInput(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value as JsonObject
  } catch {
    // Reported below.
  }
  throw new CommandFailure(2, ['--input must be a JSON object.'])
}

/** Prints the output of the module. Other log entries are dropped: the command reports their content itself. */
function printModuleOutput(terminal: Terminal, text: string): void {
  const { line } = JSON.parse(text) as { line?: string }
  if (line !== undefined) terminal.stderr.write(`${line}\n`)
}

async function callOnce(tool: Tool, input: JsonObject, signal: AbortSignal, print: (line: string) => void): Promise<string> {
  const fault = tool.check(input)
  if (fault !== undefined) throw new CommandFailure(1, [`The input does not match the schema: ${fault}`])
  const caller = { tenant: 'default', owner: 'check' }
  const context = { callId: 'check', caller, session: 'check', sessionId: 'check', headers: {}, filters: [], contextFiles: [] }
  const { isError, output, log, durationMs } = await runTool(tool, input, {
    context: { ...context, latestOutput: () => undefined, isWithheld: () => false, restriction: '' },
    async keepArtifact({ name, type, bytes, tool }) {
      print(`file: ${name} (${type}, ${bytes.byteLength} bytes)`)
      return { id: 'check', name, type, size: bytes.byteLength, sha256: '', tool, createdAt: Date.now() }
    },
    signal,
    now: Date.now,
  })
  if (isError) throw new CommandFailure(1, log.split('\n'))
  return `${log}\n${JSON.stringify(output, undefined, 2)}\n${Math.round(durationMs)} ms`
}
