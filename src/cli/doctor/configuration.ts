import { readFile } from 'node:fs/promises'
import { formatProblems, loadAgentConfig, toAgentConfig } from '../../configuration/parse.ts'
import type { ConfigurationStore } from '../../configuration/configuration-store.ts'
import { ConfigError } from '../../configuration/problems.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { parseSource } from '../../configuration/change/change.ts'
import type { Finding } from '../../models/check-models.ts'
import { exists } from '../../service/checks/folders.ts'
import type { Settings } from '../../settings/settings.ts'
import { withConfigurations } from '../used-configuration.ts'

interface CheckedConfiguration {
  findings: Finding[]
  /** Present if the configuration is valid. */
  config?: AgentConfig
}

/** Checks the configuration in the database, or else the file. */
export async function checkConfiguration(settings: Settings): Promise<CheckedConfiguration> {
  const { databaseUrl } = settings
  if (databaseUrl === undefined) return checkConfigFile(settings)
  try {
    const { isPrepared } = await import('../../store/postgres/inspect.ts')
    if (!(await isPrepared(databaseUrl))) return await checkConfigFile(settings)
    return (await withConfigurations(settings, (store) => checkStored(store, settings))) ?? (await checkConfigFile(settings))
  } catch (error) {
    // A database that cannot be reached is reported by the check of the store.
    if (!(error instanceof ConfigError)) return checkConfigFile(settings)
    const advice =
      'A later version of agent-core may have written the configuration. "agent-core config restore" restores an earlier version.'
    const lines = formatProblems('the database', error)
    return { findings: lines.map((line) => ({ state: 'fail', text: `configuration: ${line}`, advice })) }
  }
}

/** Checks the newest configuration in the database; undefined if there is none, and the file will become the first. */
async function checkStored(store: ConfigurationStore, settings: Settings): Promise<CheckedConfiguration | undefined> {
  const newest = await store.newest()
  if (!newest) return undefined
  const { config } = newest.used ? { config: toAgentConfig(newest.used) } : parseSource(newest.text)
  const findings: Finding[] = [{ state: 'ok', text: `configuration: version ${newest.version} in the database` }]
  const text = await readFile(settings.agentConfig, 'utf8').catch(() => undefined)
  if (text === undefined || (await store.seenAt(text)) !== undefined) return { findings, config }
  const edit = await checkConfigFile(settings)
  const advice = 'A running service applies the edit if possible; otherwise the next start does.'
  if (edit.config)
    findings.push({ state: 'warn', text: `configuration: ${settings.agentConfig} has an edit that is not in effect`, advice })
  else findings.push(...edit.findings.map((finding): Finding => ({ ...finding, state: 'warn' })))
  return { findings, config }
}

async function checkConfigFile({ agentConfig }: Settings): Promise<CheckedConfiguration> {
  if (!(await exists(agentConfig)))
    return { findings: [{ state: 'ok', text: `configuration: ${agentConfig} is created by "agent-core serve --init"` }] }
  try {
    return { findings: [{ state: 'ok', text: `configuration: ${agentConfig}` }], config: await loadAgentConfig(agentConfig) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const advice = 'Correct the file, and run "agent-core config check".'
    return { findings: formatProblems(agentConfig, error).map((line) => ({ state: 'fail', text: `configuration: ${line}`, advice })) }
  }
}
