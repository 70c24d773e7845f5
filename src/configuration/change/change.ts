import { isDeepStrictEqual } from 'node:util'
import { ServiceError } from '../../errors.ts'
import { checkConfig } from '../check.ts'
import { ConfigError, problemAt, type ConfigProblem } from '../problems.ts'
import { AgentConfigSchema, type AgentConfig } from '../schema.ts'
import { findDanger } from '../yaml-source.ts'
import { findNewCode } from './code-rule.ts'
import { isConfigData, mergePatch, ownValue, patchBetween, prunePatch, type ConfigData } from './merge.ts'
import { findForeignReferences, type VariableUses } from './references-rule.ts'
import { findMovedSecrets, restoreSecrets } from './secrets.ts'
import { findTooLarge } from './size-rule.ts'

/** One state of the configuration: as it is written, and with all defaults. */
export interface ConfigContent {
  readonly data: ConfigData
  readonly config: AgentConfig
}

/** What a caller may bring in, beside what the schema allows. */
export interface ChangeRules {
  /** Where variables go already. */
  variableUses: VariableUses
  /** Names of environment variables that may be used anywhere. */
  allowedReferences: readonly string[]
  mayBringCode: boolean
}

/** Throws `ConfigError` with all problems of data that is no configuration. */
export function toContent(data: ConfigData): ConfigContent {
  const { config, problems } = checkConfig(data)
  if (problems.length > 0) throw new ConfigError(problems)
  return { data, config }
}

/**
 * The configuration that a caller's patch makes of another. Throws `forbidden` where it would bring in code, and `ConfigError` with every
 * other fault of it: what does not fit, secrets that are not there or would go elsewhere, variables that it may not use.
 */
export function applyPatch(before: ConfigContent, patch: ConfigData, rules: ChangeRules): ConfigContent {
  const dangerous = findDanger(patch)
  if (dangerous.length > 0) throw new ConfigError(dangerous)
  // Looked at before anything is done with it that costs more, and once more with what it is merged into.
  refuseTooLarge(patch)
  const restored = restoreSecrets(patch, before.data)
  const data = mergeInto(before, restored.patch)
  refuseTooLarge(data)
  const code = rules.mayBringCode ? [] : findNewCode(before.data, data)
  if (code.length > 0) {
    const rule = 'config.write may not bring in commands or code unless the service runs with CONFIG_CODE=allow'
    throw new ServiceError('forbidden', `RBAC: access denied: ${rule}: ${code.join(', ')}.`)
  }
  const { config, problems } = checkConfig(data)
  const all = [
    ...problems,
    ...restored.problems,
    ...findMovedSecrets(before.data, data, restored),
    ...findForeignReferences(data, rules.variableUses, rules.allowedReferences),
  ]
  if (all.length > 0) throw new ConfigError(firstPerPath(all))
  return { data, config }
}

function refuseTooLarge(data: ConfigData): void {
  const problems = findTooLarge(data)
  if (problems.length > 0) throw new ConfigError(problems)
}

/**
 * What an edit of the file, whose owner may do all, makes of a configuration that was changed in memory. A model that was edited is as
 * the file has it: its new key is for the address beside it, and not for one that somebody put over it.
 */
export function mergeEdit(used: ConfigContent, before: ConfigData, after: ConfigData): ConfigContent {
  const merged = mergeInto(used, patchBetween(before, after))
  const [was, is, llms] = [ownValue(before, 'llms'), ownValue(after, 'llms'), ownValue(merged, 'llms')]
  const edited = Object.entries(isConfigData(is) ? is : {}).filter(([key, value]) => !isDeepStrictEqual(ownValue(was, key), value))
  if (edited.length === 0) return toContent(merged)
  return toContent({ ...merged, llms: { ...(isConfigData(llms) ? llms : {}), ...Object.fromEntries(edited) } })
}

/** Only what has an effect: who sends back all that was shown writes no defaults into the file. */
function mergeInto({ data, config }: ConfigContent, patch: unknown): ConfigData {
  const merged = mergePatch(data, prunePatch(patch, config) ?? {}, defaults)
  if (!isConfigData(merged)) throw new ConfigError([problemAt([], 'must be a mapping')])
  return merged
}

const defaults = Object.fromEntries(Object.entries(AgentConfigSchema.properties).map(([key, schema]) => [key, ownValue(schema, 'default')]))

function firstPerPath(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return [...new Map(problems.map((problem) => [problem.path, problem])).values()]
}
