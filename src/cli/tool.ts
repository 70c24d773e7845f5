import { access, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { InvalidArgumentError, type Command } from 'commander'
import { pino } from 'pino'
import { runTool, type Tool } from '../agent/tool.ts'
import type { JsonObject } from '../agent/messages.ts'
import { editYaml } from '../configuration/change/edit-yaml.ts'
import { isConfigData } from '../configuration/change/merge.ts'
import { isReserved } from '../configuration/check.ts'
import { formatProblems } from '../configuration/load.ts'
import { toAgentConfig } from '../configuration/parse.ts'
import { ConfigError } from '../configuration/problems.ts'
import { readYaml } from '../configuration/yaml-source.ts'
import { createConfigurationFile } from '../store/disk/configuration-file.ts'
import { toolDefaults } from '../tools/builder.ts'
import { createModule } from '../tools/module/module.ts'
import { addChangedTools } from './changed-tools.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type CommandContext, type Terminal } from './terminal.ts'
import { editorSettings, templateInput, toolTemplate } from './tool-template.ts'

/** Makes and tries tools that are files of the operator's. */
export function addTool(program: Command, context: CommandContext): void {
  const { terminal } = context
  const tool = program.command('tool').description('Make a tool of your own, and try it; accept tools of MCP servers that have changed.')
  addChangedTools(tool, context)

  tool
    .command('new')
    .description('Write a TypeScript file with a tool that works, to be changed into yours.')
    .argument('<name>', 'of the tool and its file', toToolName)
    .option('--dir <folder>', 'where the file goes (default: tools, beside agent.yaml)')
    .option('--add', 'also add the tool to agent.yaml')
    .action(async (name: string, options: NewOptions) => makeTool(terminal, name, options))

  tool
    .command('check <file>')
    .description('Load a file and show the tool that it is, or what is wrong with it and on which line.')
    .option('--input <json>', 'call the tool with this input, once')
    .addHelpText('after', '\nFiles that the tool makes are told and not kept.')
    .action(async (file: string, { input }: { input?: string }) => checkTool(terminal, path.resolve(terminal.cwd, file), input))
}

interface NewOptions {
  dir?: string
  add?: boolean
}

function toToolName(name: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name))
    throw new InvalidArgumentError('A name begins with a letter and has 1 to 64 letters, digits, "_" and "-".')
  if (isReserved(name)) throw new InvalidArgumentError('The agent uses this name itself; choose another.')
  return name
}

async function makeTool(terminal: Terminal, name: string, { dir, add }: NewOptions): Promise<void> {
  const settings = readSettings(terminal)
  const beside = path.dirname(settings.agentConfig)
  const folder = dir === undefined ? path.join(beside, 'tools') : path.resolve(terminal.cwd, dir)
  const file = path.join(folder, `${name}.ts`)
  const entry = { name, type: 'module', config: { path: toEntryPath(path.relative(beside, file)) } }
  const shown = (one: string) => path.relative(terminal.cwd, one) || one
  const say = (line = '') => terminal.stdout.write(`${line}\n`)
  // Whatever is refused is refused before anything is written.
  const change = add ? await addEntry(settings.agentConfig, entry) : undefined
  await mkdir(folder, { recursive: true })
  if (!(await writeNew(file, toolTemplate))) throw new CommandFailure(1, [`${shown(file)} is there already; nothing was changed.`])
  say(`made ${shown(file)}`)
  const forEditors = path.join(folder, 'tsconfig.json')
  if (await writeNew(forEditors, await settingsForEditors(folder))) say(`made ${shown(forEditors)}, by which editors find the types`)
  if (change) {
    await createConfigurationFile(settings.agentConfig, settings.dataDir).replace(change.text, change.next)
    say(`added ${name} to ${shown(settings.agentConfig)}`)
  } else {
    say(`\nAdd it to "tools" in ${shown(settings.agentConfig)} (--add does):\n`)
    say(`  - { name: ${name}, type: module, config: { path: ${entry.config.path} } }`)
  }
  say(`\nTry it: agent-core tool check ${shown(file)} --input '${JSON.stringify(templateInput)}'`)
  say('A running service uses it as soon as it is in its configuration, and then each change that you save.')
}

/** With the types of Node where this is a checkout. */
async function settingsForEditors(folder: string): Promise<string> {
  const relative = (file: string) => {
    const from = path.relative(folder, file).split(path.sep).join('/')
    return from.startsWith('.') ? from : `./${from}`
  }
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  const nodeTypes = here('../../node_modules/@types')
  const hasTypes = await access(path.join(nodeTypes, 'node')).then(
    () => true,
    () => false,
  )
  const types = here(`../tool-module${path.extname(import.meta.filename)}`)
  return editorSettings(relative(types), hasTypes ? relative(nodeTypes) : undefined)
}

/** False where there is a file of this name. */
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

/** The text of the configuration without and with an entry. */
async function addEntry(file: string, entry: { name: string }): Promise<{ text: string; next: string }> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new CommandFailure(1, [
      `${file} does not exist; "agent-core serve --init" makes one. Without --add the file of the tool is made alone.`,
    ])
  })
  try {
    const { value } = readYaml(text)
    const before = isConfigData(value) ? value : {}
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
  const say = (line: string) => terminal.stdout.write(`${line}\n`)
  const given = input === undefined ? undefined : parseInput(input)
  const log = pino({ level: 'info' }, { write: (text: string) => tellOutput(terminal, text) })
  const spec = { name: path.parse(file).name, ...toolDefaults, config: { path: file } }
  const group = await createModule(spec, { configDir: path.dirname(file), environment: terminal.environment, log })
  try {
    const trouble = group.unavailableReason?.()
    if (trouble !== undefined) throw new CommandFailure(1, [trouble])
    for (const tool of group.tools()) {
      say(`ok: ${tool.name} (${tool.effect}${tool.filters ? ', obeys data filters' : ''}): ${tool.description}`)
      say(given ? await callOnce(tool, given, terminal.stopping, say) : JSON.stringify(tool.schema, undefined, 2))
    }
  } finally {
    await group.close?.()
  }
}

function parseInput(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isConfigData(value)) return value as JsonObject
  } catch {
    // Told below.
  }
  throw new CommandFailure(2, ['--input must be a JSON object.'])
}

/** What the module itself writes; the rest is told by the command. */
function tellOutput(terminal: Terminal, text: string): void {
  const { line } = JSON.parse(text) as { line?: string }
  if (line !== undefined) terminal.stderr.write(`${line}\n`)
}

async function callOnce(tool: Tool, input: JsonObject, signal: AbortSignal, say: (line: string) => void): Promise<string> {
  const fault = tool.check(input)
  if (fault !== undefined) throw new CommandFailure(1, [`The input does not fit: ${fault}`])
  const caller = { tenant: 'default', owner: 'check' }
  const context = { callId: 'check', caller, session: 'check', sessionId: 'check', headers: {}, filters: [], contextFiles: [] }
  const { isError, output, log, durationMs } = await runTool(tool, input, {
    context: { ...context, latestOutput: () => undefined, isWithheld: () => false, restriction: '' },
    async keepArtifact({ name, type, bytes, tool }) {
      say(`file: ${name} (${type}, ${bytes.byteLength} bytes)`)
      return { id: 'check', name, type, size: bytes.byteLength, sha256: '', tool, createdAt: Date.now() }
    },
    signal,
    now: Date.now,
  })
  if (isError) throw new CommandFailure(1, log.split('\n'))
  return `${log}\n${JSON.stringify(output, undefined, 2)}\n${Math.round(durationMs)} ms`
}
