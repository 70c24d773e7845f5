import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import type { Environment } from '../../configuration/references.ts'
import type { AgentConfig, ToolConfig } from '../../configuration/schema.ts'
import { createPinMemory } from '../../configuration/tool-pins/pin-store.ts'
import { openFilesRoot, type FilesRoot } from '../../files/root.ts'
import type { Finding } from '../../models/check-models.ts'
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts'
import type { Settings } from '../../settings/settings.ts'
import { createToolCatalog } from '../../tools/catalog.ts'
import { findKnowledgeFault } from '../../tools/knowledge/find-fault.ts'
import { exists } from './folders.ts'
import { toToolFindings } from './tool-findings.ts'

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
      return empty ?? toToolFindings(entry, listed, timeoutMs)
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
