import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import { isReserved } from '../../configuration/check.ts'
import { formatProblems, toAgentConfig } from '../../configuration/parse.ts'
import { ConfigError } from '../../configuration/problems.ts'
import { fieldsOf } from '../../json/shape.ts'
import type { Settings } from '../../settings/settings.ts'
import { createConfigurationFile } from '../../store/disk/configuration-file.ts'
import { readSettings } from '../prepare.ts'
import { CommandFailure, type CommandContext, type Terminal } from '../terminal.ts'
import { editYaml } from '../../configuration/change/edit-yaml.ts'
import { readYaml } from '../../configuration/yaml-source.ts'

/** Adds the command that enters a file of the operator in agent.yaml. */
export function addAddTool(tool: Command, { terminal }: CommandContext): void {
  tool
    .command('add <file>')
    .description('Add a tool that is a file, such as tools/which_day.ts, to agent.yaml. Comments of agent.yaml stay.')
    .option('--name <name>', 'name of the tool (default: the name of its file)', toToolName)
    .action(async (file: string, { name }: { name?: string }) => addFile(terminal, file, name))
}

export function toToolName(name: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name))
    throw new InvalidArgumentError('A name must begin with a letter and have 1 to 64 letters, digits, "_" and "-".')
  if (isReserved(name)) throw new InvalidArgumentError('The agent uses this name itself; choose another.')
  return name
}

async function addFile(terminal: Terminal, file: string, givenName: string | undefined): Promise<void> {
  const settings = readSettings(terminal)
  const target = path.resolve(terminal.cwd, file)
  const display = (shown: string) => path.relative(terminal.cwd, shown) || shown
  const isFile = (await stat(target).catch(() => undefined))?.isFile() === true
  if (!isFile) throw new CommandFailure(1, [`${display(target)} is no file; nothing was changed. "agent-core tool new" writes one.`])
  if (!/\.[cm]?[jt]s$/.test(target))
    throw new CommandFailure(1, [`${display(target)} must be a TypeScript or JavaScript file; nothing was changed.`])
  const entry = toModuleEntry(givenName ?? nameOf(target), path.relative(path.dirname(settings.agentConfig), target))
  const change = await addEntry(settings, entry)
  await change.write()
  terminal.stdout.write(`added ${entry.name} to ${display(settings.agentConfig)}:\n  ${formatEntry(entry)}\n`)
  terminal.stdout.write(`\nTry it: ${terminal.command} tool check ${display(target)}\n`)
  terminal.stdout.write('A running service reads agent.yaml within two seconds.\n')
}

function nameOf(file: string): string {
  const { name } = path.parse(file)
  try {
    return toToolName(name)
  } catch (error) {
    if (error instanceof InvalidArgumentError)
      throw new CommandFailure(1, [`"${name}" cannot name a tool. ${error.message} Or set --name.`])
    throw error
  }
}

/** Checks that agent.yaml can have one more tool; `write` adds the tool. Throws a `CommandFailure` where agent.yaml is missing or the tool is there. */
export async function addEntry({ agentConfig, dataDir }: Settings, entry: ModuleEntry): Promise<{ write(): Promise<unknown> }> {
  const name = path.basename(agentConfig)
  const text = await readFile(agentConfig, 'utf8').catch(() => {
    throw new CommandFailure(1, [`${agentConfig} does not exist; "agent-core serve --init" creates one. Nothing was changed.`])
  })
  try {
    const same = listEntries(text).find((other) => other.name === entry.name || isSameFile(other, entry))
    if (same)
      throw new CommandFailure(1, [
        `${name} has the tool ${String(same.name)} already${isSameFile(same, entry) ? `, which is this file` : ''}; nothing was changed.`,
      ])
    const next = withEntry(text, entry)
    return { write: () => createConfigurationFile(agentConfig, dataDir).replace(text, next) }
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailure(1, formatProblems(agentConfig, error))
    throw error
  }
}

function isSameFile(other: Record<string, unknown>, { config }: ModuleEntry): boolean {
  const { path: file } = fieldsOf(other['config'])
  return other['type'] === 'module' && typeof file === 'string' && path.normalize(file) === path.normalize(config.path)
}

/** An entry of agent.yaml for a file of the operator. */
interface ModuleEntry {
  name: string
  type: 'module'
  config: { path: string }
}

/** The entry of agent.yaml for a file, whose path is relative to the folder of agent.yaml. */
export function toModuleEntry(name: string, relative: string): ModuleEntry {
  const slashed = relative.split(path.sep).join('/')
  return { name, type: 'module', config: { path: slashed.startsWith('..') ? slashed : `./${slashed}` } }
}

/** The entry as a line of agent.yaml. */
export function formatEntry({ name, config }: ModuleEntry): string {
  const file = /^[\w./@-]+$/.test(config.path) ? config.path : JSON.stringify(config.path)
  return `- { name: ${name}, type: module, config: { path: ${file} } }`
}

/** The text of agent.yaml with one more tool. Throws a `ConfigError` if the result is not valid. */
export function withEntry(text: string, entry: ModuleEntry): string {
  const before = fieldsOf(readYaml(text).value)
  const tools = Array.isArray(before['tools']) ? (before['tools'] as unknown[]) : []
  const after = { ...before, tools: [...tools, entry] }
  toAgentConfig(after)
  return editYaml(text, before, after)
}

/** The tools of a text of agent.yaml. Throws a `ConfigError` for a text that is no YAML. */
function listEntries(text: string): Record<string, unknown>[] {
  const { tools } = fieldsOf(readYaml(text).value)
  return Array.isArray(tools) ? tools.map(fieldsOf) : []
}
