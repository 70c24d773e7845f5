import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { formatProblems, loadAgentConfig } from '../configuration/load.ts'
import { findModelOddities } from '../configuration/model-findings.ts'
import { ConfigError, type ConfigProblem } from '../configuration/problems.ts'
import { findUnsetVariables } from '../configuration/unset-variables.ts'
import { readYaml } from '../configuration/yaml-source.ts'
import { openFilesRoot } from '../files/root.ts'
import { findModelProblems } from '../models/check-models.ts'
import type { Settings } from '../settings/settings.ts'
import { findToolProblems } from './check-tools.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

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
    const problems = [...unset, ...(modelVariableUnset ? [] : findModelProblems(config, environment)), ...tools]
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
