import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import type { Environment } from '../../configuration/references.ts'
import type { AgentConfig, ToolConfig } from '../../configuration/schema.ts'
import type { LoginStore } from '../../configuration/login-store.ts'
import { createPinMemory } from '../../configuration/tool-pins/pin-store.ts'
import { openFilesRoot, type FilesRoot } from '../../files/root.ts'
import type { Finding } from '../../models/check-models.ts'
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts'
import { noDocuments } from '../../knowledge/knowledge-store.ts'
import { createSearch } from '../../search/search.ts'
import type { Settings } from '../../settings/settings.ts'
import { createToolCatalog, type ToolCatalog } from '../../tools/catalog.ts'
import { findKnowledgeFault } from '../../tools/knowledge/document-store.ts'
import { exists } from './folders.ts'
import { toToolFindings } from './tool-findings.ts'

interface ToolTrial {
  environment: Environment
  logins: LoginStore
  timeoutMs: number
}

/** Builds each tool with a temporary cache folder, so that a running service is not affected. */
export async function checkTools(
  config: AgentConfig,
  settings: Settings,
  { environment, logins, timeoutMs }: ToolTrial,
): Promise<Finding[]> {
  const { filesRoot, agentConfig, outboundAllow } = settings
  if (!(await exists(filesRoot))) return []
  const cacheDir = await mkdtemp(path.join(tmpdir(), 'agent-core-doctor-'))
  const outbound = createGuardedFetch({ allowed: outboundAllow })
  const toolContext = {
    cacheDir,
    configDir: path.dirname(path.resolve(agentConfig)),
    environment,
    outbound,
    search: createSearch(),
    documents: noDocuments,
    pins: createPinMemory(),
    logins,
  }
  const files = await openFilesRoot(filesRoot)
  const catalog = createToolCatalog(config, { files, ...toolContext, log: pino({ level: 'silent' }) })
  try {
    await settlesWithin(
      catalog.ready().then(() => untilIndexed(catalog)),
      timeoutMs,
    )
    const listings = [...Map.groupBy(catalog.list(), ({ name, entry = name }) => entry)]
    const findings = listings.map(async ([entry, listed]) => {
      const isReady = listed.every(({ status }) => status === 'ready')
      const empty = isReady
        ? await checkDocuments(
            config.tools.find(({ name }) => name === entry),
            files,
          )
        : undefined
      return empty ?? toToolFindings(entry, listed, timeoutMs)
    })
    return (await Promise.all(findings)).flat()
  } finally {
    await catalog.close()
    await outbound.close()
    await rm(cacheDir, { recursive: true, force: true })
  }
}

/** Resolves when no tool prepares data in the background any more. */
async function untilIndexed(catalog: ToolCatalog): Promise<void> {
  while (catalog.list().some(({ tool }) => tool?.state?.().progress !== undefined)) await setTimeout(pollMs)
}

const pollMs = 50

/** Reports a knowledge search without documents, which is ready but finds nothing. Undefined if there are documents, or for tools of another type. */
async function checkDocuments(tool: ToolConfig | undefined, files: FilesRoot): Promise<Finding[] | undefined> {
  if (!tool || (tool.type ?? tool.name) !== 'knowledge_search') return undefined
  const paths = tool.config?.['paths'] as string[] | undefined
  const fault = paths && (await findKnowledgeFault(paths, files))
  const advice = `Put documents there, or correct "paths" of the entry ${tool.name} in agent.yaml.`
  return fault === undefined ? undefined : [{ state: 'fail', text: `tool ${tool.name}: no documents: ${fault}`, advice }]
}
