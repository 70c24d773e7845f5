import { lookup } from 'node:dns/promises'
import { access, constants, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import type { ToolListing } from '../../agent/tool.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { messageWithCause } from '../../errors.ts'
import { formatProblems, loadAgentConfig } from '../../configuration/load.ts'
import type { ConfigurationStore } from '../../configuration/configuration-store.ts'
import { toAgentConfig } from '../../configuration/parse.ts'
import { ConfigError } from '../../configuration/problems.ts'
import type { Environment } from '../../configuration/references.ts'
import { createPinMemory } from '../../configuration/tool-pins/pin-store.ts'
import type { AgentConfig, ToolConfig } from '../../configuration/schema.ts'
import { parseSource } from '../../configuration/source.ts'
import { openFilesRoot, type FilesRoot } from '../../files/root.ts'
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts'
import type { Settings } from '../../settings/settings.ts'
import { isHeld, isOpenToOthers } from '../../store/sqlite/data-dir.ts'
import { openDatabase } from '../../store/open.ts'
import { createToolCatalog } from '../../tools/catalog.ts'
import { findKnowledgeFault } from '../../tools/knowledge/find-fault.ts'
import type { Finding } from '../../models/check-models.ts'
import { findService } from '../running-service.ts'
import { withConfigurations } from '../used-configuration.ts'
import { toFindings as toFindingsOfPostgres } from './postgres.ts'

/** Checks of `doctor`. They create nothing that a start would create; missing files and tables are only reported. */

export async function checkDataDir({ dataDir, databaseUrl }: Settings): Promise<Finding> {
  const label = `data directory: ${dataDir}`
  if (!(await exists(dataDir))) {
    if (await isWritable(await nearestFolder(dataDir))) return { state: 'ok', text: `${label} is created by the first start` }
    return { state: 'fail', text: `${label} cannot be created`, advice: 'Set DATA_DIR to a folder that this user can write to.' }
  }
  if (!(await isWritable(dataDir))) {
    return {
      state: 'fail',
      text: `${label} cannot be written to`,
      advice: 'Give this user write permission, or set DATA_DIR to another folder.',
    }
  }
  const url = await findService({ dataDir, databaseUrl })
  if (url !== undefined) return { state: 'ok', text: `${label}, in use by the service at ${url}` }
  if (databaseUrl !== undefined) return { state: 'ok', text: `${label} is writable` }
  if (isHeld(dataDir)) {
    const text = `${label} is in use, but nothing answers for it`
    return { state: 'warn', text, advice: 'A service may be starting or hanging; otherwise another process holds lock.db.' }
  }
  if (isOpenToOthers(dataDir)) {
    const advice = `The directory will hold keys and conversations: run chmod 700 ${dataDir}`
    return { state: 'warn', text: `${label} is open to other users of this machine`, advice }
  }
  return { state: 'ok', text: `${label} is writable, and no service uses it` }
}

export async function checkStore(settings: Settings): Promise<Finding[]> {
  if (settings.databaseUrl !== undefined) return checkPostgres(settings.databaseUrl, settings)
  if (!(await exists(path.join(settings.dataDir, 'agent-core.db'))))
    return [{ state: 'ok', text: 'store: SQLite, created by the first start' }]
  try {
    const database = await openDatabase(settings)
    try {
      await database.ping()
    } finally {
      await database.close()
    }
    return [{ state: 'ok', text: 'store: SQLite opens, and its tables are up to date' }]
  } catch (error) {
    const advice = 'Restore DATA_DIR from a backup, or use the version of agent-core that wrote it.'
    return [{ state: 'fail', text: `store: SQLite: ${messageWithCause(error)}`, advice }]
  }
}

async function checkPostgres(url: string, settings: Settings): Promise<Finding[]> {
  const { inspectPostgres } = await import('../../store/postgres/inspect.ts')
  try {
    return toFindingsOfPostgres(await inspectPostgres(url), settings)
  } catch (error) {
    const advice = 'Check that the server runs and that DATABASE_URL is right. Its user must be able to create tables.'
    return [{ state: 'fail', text: `store: Postgres: ${messageWithCause(error)}`, advice }]
  }
}

/** Checks that the artifact store is usable; without a store, warns that processes on other machines cannot read artifacts. */
export async function checkArtifacts({ artifactStore, databaseUrl, dataDir }: Settings): Promise<Finding[]> {
  if (!artifactStore) {
    const text = `artifacts: files in ${dataDir}, which processes on other machines cannot read`
    const advice = 'If the service runs on several machines, set ARTIFACT_STORE, or set DATA_DIR to a shared folder.'
    return databaseUrl === undefined ? [] : [{ state: 'warn', text, advice }]
  }
  const { checkBucket } = await import('../../store/s3/check.ts')
  const { bucket, prefix } = artifactStore
  try {
    await checkBucket(artifactStore, 0)
    return [{ state: 'ok', text: `artifacts: s3://${bucket}/${prefix.slice(0, -1)} accepts files` }]
  } catch (error) {
    const advice = 'Correct the variable, or allow reading, writing, listing and deleting under the prefix on the server.'
    return [{ state: 'fail', text: `artifacts: ${messageWithCause(error)}`, advice }]
  }
}

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

export async function checkFilesRoot({ filesRoot }: Settings): Promise<Finding> {
  const label = `files: ${filesRoot}`
  const stats = await stat(filesRoot).catch(() => undefined)
  if (!stats) return { state: 'ok', text: `${label} is created by "agent-core serve --init"` }
  const isReadable = await access(filesRoot, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (stats.isDirectory() && isReadable) return { state: 'ok', text: `${label} is readable` }
  return { state: 'fail', text: `${label} is not a folder that this user can read`, advice: 'Set FILES_ROOT to a readable folder.' }
}

interface ToolTrial {
  environment: Environment
  timeoutMs: number
}

/** Builds each tool with a temporary cache folder, so that a running service is not affected. */
export async function checkTools(config: AgentConfig, settings: Settings, { environment, timeoutMs }: ToolTrial): Promise<Finding[]> {
  const { filesRoot, agentConfig, outboundAllow } = settings
  if (!(await exists(filesRoot))) return []
  const cacheDir = await mkdtemp(path.join(tmpdir(), 'agent-core-doctor-'))
  const outbound = createGuardedFetch({ allowed: outboundAllow })
  const toolContext = { cacheDir, configDir: path.dirname(path.resolve(agentConfig)), environment, outbound, pins: createPinMemory() }
  const files = await openFilesRoot(filesRoot)
  const catalog = createToolCatalog(config, { files, ...toolContext, log: pino({ level: 'silent' }) })
  try {
    await settlesWithin(catalog.ready(), timeoutMs)
    const listings = [...Map.groupBy(catalog.list(), ({ name, entry = name }) => entry)]
    const findings = listings.map(async ([entry, listed]) => {
      const isReady = listed.every(({ status }) => status === 'ready')
      const empty = isReady
        ? await checkDocuments(
            config.tools.find(({ name }) => name === entry),
            files,
          )
        : undefined
      return empty ?? toFindings(entry, listed, timeoutMs)
    })
    return (await Promise.all(findings)).flat()
  } finally {
    await catalog.close()
    await outbound.close()
    await rm(cacheDir, { recursive: true, force: true })
  }
}

/** Reports a knowledge search without documents, which is ready but finds nothing. Undefined if there are documents, or for tools of another type. */
async function checkDocuments(tool: ToolConfig | undefined, files: FilesRoot): Promise<Finding[] | undefined> {
  if (!tool || (tool.type ?? tool.name) !== 'knowledge_search') return undefined
  const fault = await findKnowledgeFault(tool.config?.['paths'] as string[], files)
  const advice = `Put documents there, or correct "paths" of the entry ${tool.name} in agent.yaml.`
  return fault === undefined ? undefined : [{ state: 'fail', text: `tool ${tool.name}: no documents: ${fault}`, advice }]
}

/** Returns a finding for a ready entry, which may have many tools, and a finding for each distinct failure of its tools. */
function toFindings(entry: string, listed: readonly ToolListing[], timeoutMs: number): Finding[] {
  const ready = listed.filter(({ status }) => status === 'ready')
  const [first] = listed
  if (first?.status === 'initializing') {
    const advice = 'The service keeps building the tool while it runs; chats do not have the tool until then.'
    return [{ state: 'warn', text: `tool ${entry} is not ready after ${timeoutMs / 1000} s`, advice }]
  }
  const isSingleTool = listed.length === 1 && first?.name === entry
  const readyText = isSingleTool
    ? `tool ${entry} is ready`
    : `tools of ${entry}: ${ready.length} ${ready.length === 1 ? 'is' : 'are'} ready`
  const failed = Map.groupBy(
    listed.filter(({ status }) => status === 'error'),
    ({ reason = '' }) => reason,
  )
  const faults = [...failed].map(([reason, failedTools]): Finding => {
    if (failedTools.length === listed.length) {
      const advice = `Correct the entry ${entry} of tools in agent.yaml, or the resources named there.`
      return { state: 'fail', text: `tool ${entry}: ${reason}`, advice }
    }
    const names = failedTools.map(({ name }) => name)
    const listedNames =
      names.length > maxListedNames ? [...names.slice(0, maxListedNames), `${names.length - maxListedNames} others`] : names
    const advice = `The other tools of ${entry} work. Add these to "exclude" in the config of the entry to leave them out.`
    return { state: 'warn', text: `${listedNames.join(', ')}: ${reason}`, advice }
  })
  return [...(ready.length > 0 ? [{ state: 'ok' as const, text: readyText }] : []), ...faults]
}

const maxListedNames = 5

export async function checkOutbound({ outboundAllow }: Settings): Promise<Finding> {
  if (outboundAllow.length === 0) return { state: 'ok', text: 'outbound: callbacks and web tools reach only public addresses' }
  const text = `outbound: public addresses, and ${outboundAllow.join(', ')}`
  const open = outboundAllow.filter((target) => target.endsWith('/0'))
  if (open.length > 0)
    return { state: 'warn', text, advice: `${open.join(', ')} allows every address, including addresses of this machine.` }
  const hosts = outboundAllow.map(toHost).filter((host) => host !== undefined)
  const unknown = (await Promise.all(hosts.map(async (host) => ((await canResolve(host)) ? [] : [host])))).flat()
  if (unknown.length === 0) return { state: 'ok', text }
  return { state: 'warn', text, advice: `No address was found for ${unknown.join(', ')}. Check the names in OUTBOUND_ALLOW.` }
}

const lookupMs = 3000

/** The host name of a target; undefined for addresses and CIDR blocks, which need no look-up. */
function toHost(target: string): string | undefined {
  const host = target.replace(/:\d+$/, '')
  return target.includes('/') || target.includes('[') || isIP(target) !== 0 || isIP(host) !== 0 ? undefined : host
}

/** False if a DNS look-up fails. A slow look-up proves nothing, and counts as found. */
async function canResolve(host: string): Promise<boolean> {
  const isFound = lookup(host).then(
    () => true,
    () => false,
  )
  return (await settlesWithin(isFound, lookupMs)) ? isFound : true
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function nearestFolder(file: string): Promise<string> {
  const parent = path.dirname(file)
  return parent === file || (await exists(parent)) ? parent : nearestFolder(parent)
}
