import { readFile, access, constants, stat } from 'node:fs/promises'
import path from 'node:path'
import { formatProblems, loadAgentConfig } from '../configuration/parse.ts'
import { findModelOddities } from '../configuration/models/findings.ts'
import { ConfigError, type ConfigProblem, problemAt, type Path } from '../configuration/problems.ts'
import { readYaml } from '../configuration/yaml-source.ts'
import { openFilesRoot, type FilesRoot } from '../files/root.ts'
import { findModelProblems } from '../models/check-models.ts'
import type { Settings } from '../settings/settings.ts'
import { CommandFailure, type Terminal } from './terminal.ts'
import { type Environment, isOwnVariable, referencesIn } from '../configuration/references.ts'
import type { AgentConfig, ToolConfig } from '../configuration/schema.ts'
import type { ToolType } from '../configuration/tool-types.ts'
import { createTables } from '../tools/data-query/tables.ts'
import { findKnowledgeFault } from '../tools/knowledge/document-store.ts'
import { createAgentFiles } from '../tools/agent-files.ts'
import { readSkills } from '../configuration/skills/skill.ts'
import { messageOf } from '../errors.ts'
import { entriesOf, isSecretNode, leavesOf, type SchemaNode } from '../configuration/change/entries.ts'

/**
 * Fails with a line for each fault of a configuration file: syntax and schema errors, or else everything that a start with this environment
 * and these files would lack. Returns a line for each setting that a model does not have. Runs no command and uses no network.
 */
export async function checkConfigFile(file: string, { filesRoot }: Settings, { environment }: Terminal): Promise<string[]> {
  try {
    const config = await loadAgentConfig(file)
    const unset = findUnsetVariables(config, environment)
    // A model that lacks a variable cannot be created. The unset variable is reported instead of the model.
    const modelVariableUnset = unset.some(({ at }) => at[0] === 'llms')
    const files = await openFilesRoot(filesRoot).catch(() => undefined)
    const tools = await findToolProblems(config, { configDir: path.dirname(path.resolve(file)), files, environment })
    const skills = await readSkills(createAgentFiles({ configDir: path.dirname(path.resolve(file)) }), config)
    const folders = (skills?.faults ?? []).map((fault) => problemAt(['skills'], fault))
    const problems = [...unset, ...(modelVariableUnset ? [] : findModelProblems(config, environment)), ...tools, ...folders]
    if (problems.length > 0) throw new ConfigError(await withLines(problems, file))
    return formatProblems(file, new ConfigError(await withLines(findModelOddities(config), file)))
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailure(1, formatProblems(file, error))
    throw error
  }
}

async function withLines(problems: readonly ConfigProblem[], file: string): Promise<ConfigProblem[]> {
  const { lineOf } = readYaml(await readFile(file, 'utf8'))
  return problems.map((problem) => ({ ...problem, line: lineOf(problem.at) })).toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
}

interface ToolCheckContext {
  /** The folder of agent.yaml. */
  configDir: string
  /** Undefined if FILES_ROOT is not a readable folder. */
  files: FilesRoot | undefined
  environment: Environment
}

type Config = Readonly<Record<string, unknown>>
type ToolCheck = (config: Config, at: Path, places: ToolCheckContext) => Promise<ConfigProblem[]>

/** Finds missing files, folders and commands of tools. Runs no command and uses no network. */
async function findToolProblems({ tools }: Pick<AgentConfig, 'tools'>, places: ToolCheckContext): Promise<ConfigProblem[]> {
  const problemLists = tools.map(async (tool, index) => {
    const check = checks[typeOf(tool)]
    return check ? check(tool.config ?? {}, ['tools', index, 'config'], places) : []
  })
  return (await Promise.all(problemLists)).flat()
}

function typeOf({ type, name }: ToolConfig): ToolType {
  return (type ?? name) as ToolType
}

const checks: Partial<Record<ToolType, ToolCheck>> = {
  data_query: checkTables,
  knowledge_search: checkDocuments,
  mcp: checkCommand,
  module: ({ path: file }, at, { configDir }) => checkFile(String(file), [...at, 'path'], configDir),
  openapi: async ({ spec }, at, { configDir }) => {
    const isAddress = /^(https?:\/\/|\$\{)/i.test(String(spec))
    return isAddress ? [] : checkFile(String(spec), [...at, 'spec'], configDir)
  },
}

async function checkFile(file: string, at: Path, folder: string): Promise<ConfigProblem[]> {
  const absolute = path.resolve(folder, file)
  const stats = await stat(absolute).catch(() => undefined)
  if (!stats) return [problemAt(at, `${absolute} does not exist`)]
  return stats.isFile() ? [] : [problemAt(at, `${absolute} is not a file`)]
}

async function checkTables({ tables }: Config, at: Path, { files }: ToolCheckContext): Promise<ConfigProblem[]> {
  const problemLists = Object.entries(tables as Record<string, string>).map(async ([name, pattern]) => {
    const tablePath = [...at, 'tables', name]
    if (!files) return [problemAt(tablePath, noFiles)]
    try {
      await createTables({ [name]: pattern }, files).find(() => false)
      return []
    } catch (error) {
      return [problemAt(tablePath, messageOf(error))]
    }
  })
  return (await Promise.all(problemLists)).flat()
}

async function checkDocuments({ paths }: Config, at: Path, { files }: ToolCheckContext): Promise<ConfigProblem[]> {
  const pathsAt = [...at, 'paths']
  if (!files) return [problemAt(pathsAt, noFiles)]
  try {
    const fault = await findKnowledgeFault(paths as string[], files)
    return fault === undefined ? [] : [problemAt(pathsAt, fault)]
  } catch (error) {
    return [problemAt(pathsAt, messageOf(error))]
  }
}

const noFiles = 'FILES_ROOT is not a folder that can be read'

/** Searches for the command in the same way as the shell that starts the server. */
async function checkCommand(
  { command, cwd = '.', env }: Config,
  at: Path,
  { configDir, environment }: ToolCheckContext,
): Promise<ConfigProblem[]> {
  if (typeof command !== 'string') return []
  const folder = path.resolve(configDir, String(cwd))
  if (!(await stat(folder).catch(() => undefined))?.isDirectory()) return [problemAt([...at, 'cwd'], `${folder} is not a folder`)]
  const search = (env as Record<string, string> | undefined)?.['PATH'] ?? environment['PATH'] ?? ''
  const folders = command.includes('/') ? [folder] : search.split(path.delimiter)
  const candidates = await Promise.all(folders.map((directory) => isExecutable(path.resolve(folder, directory, command))))
  if (candidates.includes(true)) return []
  const where = command.includes('/') ? `in ${folder}` : 'in PATH'
  return [problemAt([...at, 'command'], `there is no command ${JSON.stringify(command)} ${where}`)]
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}

/** Finds every `${NAME}` in a secret or an address whose variable is unset or belongs to the service. */
function findUnsetVariables(config: unknown, environment: Environment): ConfigProblem[] {
  const nodes = entriesOf(config).flatMap((entry) => [...leavesOf(entry)].filter(isResolved))
  return nodes.flatMap(({ value, at }) =>
    [...new Set(referencesIn(String(value)))].flatMap((name) => {
      if (isOwnVariable(name)) return [problemAt(at, `\${${name}} belongs to the service and cannot be used in the configuration`)]
      return environment[name] ? [] : [problemAt(at, `the environment variable ${name} is not set`)]
    }),
  )
}

/** True if `${NAME}` is resolved in the value. Elsewhere `${NAME}` stays literal. */
function isResolved(node: SchemaNode): boolean {
  const isAddress = node.schemas.some(({ pattern }) => typeof pattern === 'string' && pattern.includes('\\$\\{'))
  return isSecretNode(node) || isAddress || node.at.at(-1) === 'spec'
}
