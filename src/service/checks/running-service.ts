import { settlesWithin } from '../../concurrency/settles-within.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import type { Configuration } from '../../configuration/configuration.ts'
import type { Environment } from '../../configuration/references.ts'
import { pinsOf } from '../../configuration/skills/pins.ts'
import type { KnowledgeStore } from '../../knowledge/knowledge-store.ts'
import { checkModels, type Finding } from '../../models/check-models.ts'
import type { Search } from '../../search/retriever.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Database } from '../../store/database.ts'
import {
  checkArtifacts,
  checkDataDir,
  checkFilesRoot,
  checkOutbound,
  checkSecretsOf,
  checkPublicUrl,
  describeSettings,
} from './installation.ts'
import { createFindEvidence } from '../gate.ts'
import { checkGate } from './gate.ts'
import { checkKnowledge, checkSearch, toIndexFindings } from './search.ts'
import { checkPostgres, checkSqlite } from './store.ts'
import { toToolFindings } from './tools.ts'

/** A check of one part of the running service. */
export interface ServiceCheck {
  name: string
  /** How long a result is kept, in milliseconds: calls of models cost money. */
  keptMs: number
  /** Changes when the result must not be kept any longer. */
  subject?(): string
  check(): Promise<Finding[]>
}

interface RunningService {
  settings: Settings
  environment: Environment
  agent: CurrentAgent
  configuration: Pick<Configuration, 'show'>
  database: Database
  search: Pick<Search, 'progress'>
  knowledge: Pick<KnowledgeStore, 'counts'>
  address(): string
}

const toolsMs = 0
/** The limit of the request to a model, below the limit of a check. */
const modelMs = 8000
export const checkMs = 10_000
const keptMs = 10_000

/** The checks of `doctor`, for a service that runs: its own database, configuration and tools are checked as they are. */
export function checksOf({
  settings,
  environment,
  agent,
  configuration,
  database,
  search,
  knowledge,
  address,
}: RunningService): ServiceCheck[] {
  const { databaseUrl } = settings
  const ping = () => database.ping()
  return [
    { name: 'settings', keptMs, check: async () => [describeSettings(settings), ...checkPublicUrl(settings)] },
    {
      name: 'data_directory',
      keptMs,
      check: async () => [await checkDataDir(settings, async () => (databaseUrl === undefined ? address() : undefined))],
    },
    { name: 'store', keptMs, check: () => (databaseUrl === undefined ? checkSqlite(ping) : checkPostgres(databaseUrl, settings)) },
    { name: 'secrets', keptMs: 60_000, check: async () => (databaseUrl === undefined ? [] : checkSecretsOf(database, settings)) },
    { name: 'artifacts', keptMs: 60_000, check: () => checkArtifacts(settings) },
    { name: 'configuration', keptMs: 0, check: async () => checkConfiguration(configuration) },
    {
      name: 'gate',
      keptMs: 0,
      check: () => checkGate(agent().config, pinsOf(agent().skills), createFindEvidence(database, settings.adminTenant)),
    },
    { name: 'files', keptMs, check: async () => [await checkFilesRoot(settings)] },
    {
      name: 'models',
      keptMs: 300_000,
      subject: () => agent().version,
      check: () => checkModels(agent().config, { environment, timeoutMs: modelMs }),
    },
    { name: 'tools', keptMs: 0, check: async () => checkTools(agent) },
    {
      name: 'search',
      keptMs: 0,
      check: async () => [checkSearch({ settings, embedding: agent().config.llms.embedding }), ...toIndexFindings(search.progress())],
    },
    { name: 'knowledge', keptMs, check: () => checkKnowledge(knowledge) },
    { name: 'outbound', keptMs: 60_000, check: async () => [await checkOutbound(settings)] },
  ]
}

/** Runs a check within its time limit. A check never rejects. */
export async function runCheck(
  { name, check }: Pick<ServiceCheck, 'name' | 'check'>,
  onError: (error: unknown) => void,
): Promise<Finding[]> {
  const findings = check().catch((error: unknown): Finding[] => {
    onError(error)
    return [{ state: 'fail', text: `${name}: the check failed`, advice: 'The log of the service has the cause.' }]
  })
  if (await settlesWithin(findings, checkMs)) return findings
  return [{ state: 'warn', text: `${name}: no result within ${checkMs / 1000} s`, advice: 'Run "agent-core doctor" on the machine.' }]
}

function checkConfiguration(configuration: Pick<Configuration, 'show'>): Finding[] {
  const { version, warnings = [] } = configuration.show()
  const advice = 'This process serves the version before. Correct the configuration, or restore an earlier version.'
  return [
    { state: 'ok', text: `configuration: version ${version} is in use` },
    ...warnings.map((warning): Finding => ({ state: 'warn', text: warning, advice })),
  ]
}

function checkTools(agent: CurrentAgent): Finding[] {
  const listings = [...Map.groupBy(agent().tools.list(), ({ name, entry = name }) => entry)]
  return listings.flatMap(([entry, listed]) => toToolFindings(entry, listed, toolsMs))
}
