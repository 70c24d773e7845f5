import { access, constants, stat } from 'node:fs/promises'
import path from 'node:path'
import { problemAt, type ConfigProblem, type Path } from '../configuration/problems.ts'
import type { Environment } from '../configuration/references.ts'
import type { AgentConfig, ToolConfig } from '../configuration/schema.ts'
import type { ToolType } from '../configuration/tool-types.ts'
import type { FilesRoot } from '../files/root.ts'
import { createTables } from '../tools/data-query/tables.ts'
import { findKnowledgeFault } from '../tools/knowledge/find-fault.ts'
import { messageOf } from '../errors.ts'

export interface ToolCheckContext {
  /** The folder of agent.yaml. */
  configDir: string
  /** Undefined if FILES_ROOT is not a readable folder. */
  files: FilesRoot | undefined
  environment: Environment
}

type Config = Readonly<Record<string, unknown>>
type ToolCheck = (config: Config, at: Path, places: ToolCheckContext) => Promise<ConfigProblem[]>

/** Finds missing files, folders and commands of tools. Runs no command and uses no network. */
export async function findToolProblems({ tools }: Pick<AgentConfig, 'tools'>, places: ToolCheckContext): Promise<ConfigProblem[]> {
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
