import { isDeepStrictEqual } from 'node:util'
import { ServiceError } from '../../errors.ts'
import { checkConfig } from '../check.ts'
import { ConfigError, problemAt, type ConfigProblem } from '../problems.ts'
import { AgentConfigSchema, type AgentConfig } from '../schema.ts'
import { toAgentConfig } from '../parse.ts'
import { findDanger, readYaml, type YamlSource } from '../yaml-source.ts'
import { findNewCode, findForeignGrants, findForeignReferences, type VariableUses, findTooLarge } from './rules.ts'
import { mergePatch, ownValue, patchBetween, prunePatch, type ConfigData } from './merge.ts'
import { findMovedSecrets, restoreSecrets, type RestoredPatch } from './secrets.ts'
import { isObject, fieldsOf } from '../../json/shape.ts'

/** A configuration as written (`data`) and with all defaults (`config`). */
export interface ConfigContent {
  readonly data: ConfigData
  readonly config: AgentConfig
}

/** The permissions of a change, beyond the schema. */
export interface ChangeRules {
  /** The existing uses of variables, which a change may repeat. */
  variableUses: VariableUses
  /** Names of environment variables that a change may use anywhere. */
  allowedReferences: readonly string[]
  mayBringCode: boolean
  /** The caller's permissions: a change of a role adds no others. */
  grantable: ReadonlySet<string>
}

/** The rules that are the same for every caller. */
export type ServiceRules = Omit<ChangeRules, 'variableUses' | 'grantable'>

/** Checks data and fills in the defaults. Throws `ConfigError` with all problems. */
export function toContent(data: ConfigData): ConfigContent {
  return { data, config: toAgentConfig(data) }
}

/**
 * Applies a caller's patch. Throws `forbidden` when the patch adds code without permission, and `ConfigError` with all further faults: values
 * against the schema, masked secrets without an original, secrets for a new address, variables beyond the caller's permission.
 */
export function applyPatch(before: ConfigContent, patch: ConfigData, rules: ChangeRules): ConfigContent {
  refuseHarmful(patch)
  const restored = restoreSecrets(patch, before.data)
  return checkChange(before, { data: mergeInto(before, restored.patch), restored, rules })
}

/** Replaces the whole content by a caller's data. What is absent is removed. Throws as `applyPatch` does. */
export function replaceContent(before: ConfigContent, data: ConfigData, rules: ChangeRules): ConfigContent {
  refuseHarmful(data)
  const restored = restoreSecrets(data, before.data)
  return checkChange(before, { data: restored.patch as ConfigData, restored, rules })
}

interface CheckedChange {
  /** The content after the change. */
  data: ConfigData
  restored: RestoredPatch
  rules: ChangeRules
}

function checkChange(before: ConfigContent, { data, restored, rules }: CheckedChange): ConfigContent {
  refuse(findTooLarge(data))
  const code = rules.mayBringCode ? [] : findNewCode(before.data, data)
  if (code.length > 0) {
    const rule = 'config.write does not permit new commands or code unless the service runs with CONFIG_CODE=allow'
    throw new ServiceError('forbidden', `RBAC: access denied: ${rule}: ${code.join(', ')}.`)
  }
  const grants = findForeignGrants(before.data, data, rules.grantable).slice(0, 10)
  const { config, problems } = checkConfig(data)
  if (problems.length === 0 && grants.length > 0) {
    throw new ServiceError('forbidden', `RBAC: access denied: this key cannot give permissions that it lacks: ${grants.join(', ')}.`)
  }
  const all = [
    ...problems,
    ...restored.problems,
    ...findMovedSecrets(before.data, data, restored),
    ...findForeignReferences(data, rules.variableUses, rules.allowedReferences),
  ]
  refuse([...new Map(all.map((problem) => [problem.path, problem])).values()])
  return { data, config }
}

/** The size is checked before more expensive work, and again after a merge. */
function refuseHarmful(sent: ConfigData): void {
  refuse(findTooLarge(sent))
  refuse(findDanger(sent))
}

function refuse(problems: readonly ConfigProblem[]): void {
  if (problems.length > 0) throw new ConfigError(problems)
}

/**
 * Merges an edit of the file into a configuration that was changed in memory. An edited model is taken over whole from the file: a new key
 * belongs to the address beside the key in the file, not to an address that was set in memory.
 */
export function mergeEdit(used: ConfigContent, before: ConfigData, after: ConfigData): ConfigContent {
  const merged = mergeInto(used, patchBetween(before, after))
  const [oldModels, newModels, llms] = [ownValue(before, 'llms'), ownValue(after, 'llms'), ownValue(merged, 'llms')]
  const edited = Object.entries(fieldsOf(newModels)).filter(([key, value]) => !isDeepStrictEqual(ownValue(oldModels, key), value))
  if (edited.length === 0) return toContent(merged)
  return toContent({ ...merged, llms: { ...fieldsOf(llms), ...Object.fromEntries(edited) } })
}

/** Merges the effective part of a patch: sending back the shown configuration must not write defaults into the file. */
function mergeInto({ data, config }: ConfigContent, patch: unknown): ConfigData {
  const merged = mergePatch(data, prunePatch(patch, config) ?? {}, defaults)
  if (!isObject(merged)) throw new ConfigError([problemAt([], 'must be a mapping')])
  return merged
}

const defaults = Object.fromEntries(Object.entries(AgentConfigSchema.properties).map(([key, schema]) => [key, ownValue(schema, 'default')]))

/** The text of a configuration with the parsed content. */
export interface ConfigurationSource extends ConfigContent {
  readonly text: string
}

/** Parses a text. Throws `ConfigError` with lines. */
export function parseSource(text: string): ConfigurationSource {
  const { value, lineOf } = readYaml(text)
  return withLines(lineOf, () => ({ ...toContent(value as ConfigData), text }))
}

/** Adds the lines of a text to the problems that `check` throws. */
export function withLines<T>(lineOf: YamlSource['lineOf'], check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(error.problems.map((problem) => ({ ...problem, line: lineOf(problem.at) })))
  }
}

/** Parses an edit of the file. An empty text is refused: editors truncate a file before writing, and an empty text would mean all defaults. */
export function parseEdit(text: string): ConfigurationSource {
  if (text.trim() === '') throw new ConfigError([{ path: '', at: [], message: 'is empty' }])
  return parseSource(text)
}
