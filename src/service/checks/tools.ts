import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import type { Environment } from '../../configuration/references.ts'
import type { AgentConfig, ToolConfig } from '../../configuration/schema.ts'
import type { LoginStore } from '../../configuration/mcp/login-store.ts'
import { createPinMemory } from '../../configuration/mcp/pin-store.ts'
import { openFilesRoot, type FilesRoot } from '../../files/root.ts'
import type { Finding } from '../../models/check-models.ts'
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts'
import { noDocuments } from '../../knowledge/knowledge-store.ts'
import { createSearch } from '../../search/search.ts'
import type { Settings } from '../../settings/settings.ts'
import { createToolCatalog, type ToolCatalog } from '../../tools/catalog.ts'
import { findKnowledgeFault } from '../../tools/knowledge/document-store.ts'
import { exists } from './installation.ts'
import { marksOf } from '../../agent/taint.ts'
import type { Tool, ToolListing, ToolState } from '../../agent/tool.ts'

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
    const contained = [...toContainmentFindings(config, catalog.list()), ...toServerFindings(config, catalog.list())]
    return [...(await Promise.all(findings)).flat(), ...contained]
  } finally {
    await catalog.close()
    await outbound.close()
    await rm(cacheDir, { recursive: true, force: true })
  }
}

/** Warns of an agent that reads text of strangers and private data, has a way out, and holds no call. */
export function toContainmentFindings({ containment }: Pick<AgentConfig, 'containment'>, listings: readonly ToolListing[]): Finding[] {
  const { after_untrusted: afterUntrusted = 'allow', outbound = 'allow' } = containment ?? {}
  const tools = listings.flatMap(({ tool }) => tool ?? [])
  const nameOf = (isKind: (tool: Tool) => boolean) => tools.find(isKind)?.name
  const stranger = nameOf((tool) => marksOf(tool).trust === 'untrusted')
  const secret = nameOf((tool) => marksOf(tool).private)
  const exit = nameOf((tool) => marksOf(tool).outbound)
  if ((afterUntrusted !== 'allow' && outbound !== 'allow') || !stranger || !secret || !exit) return []
  return [
    {
      state: 'warn',
      text: `text of strangers (${stranger}) can make the agent send private data (${secret}) outside (${exit}), or change something`,
      advice: 'Set "containment" in agent.yaml: after_untrusted and outbound to approve or refuse.',
    },
  ]
}

/** Warns of servers whose words, or whose calls, make people decide all day. */
export function toServerFindings(
  { containment, tools }: Pick<AgentConfig, 'containment' | 'tools'>,
  listings: readonly ToolListing[],
): Finding[] {
  const { after_untrusted: afterUntrusted = 'allow', outbound = 'allow' } = containment ?? {}
  return tools.flatMap((entry): Finding[] => {
    const marks = listings.flatMap(({ tool, entry: name }) => (tool && name === entry.name ? [marksOf(tool)] : []))
    const isDescribed = afterUntrusted !== 'allow' && marks.some(({ describedBy }) => describedBy !== undefined)
    const isOwnWay = marks.some((tool) => tool.trust === 'untrusted' && tool.private && tool.outbound)
    const closesItself = outbound !== 'allow' && entry.outbound === undefined && isOwnWay
    const state = 'warn' as const
    return [
      ...(isDescribed ? [{ state, text: `tool ${entry.name}: ${unacceptedText}`, advice: acceptAdvice }] : []),
      ...(closesItself ? [{ state, text: `tool ${entry.name}: ${closingText}`, advice: outboundAdvice }] : []),
    ]
  })
}

const unacceptedText =
  'nobody has accepted the descriptions of the server, so calls of other tools that change something are held in every chat'
const acceptAdvice = 'Accept them with "pin: true" in its config, keep the document in a file, or set "trust: trusted".'
const closingText = 'its calls are held once a chat was shown its output'
const outboundAdvice = 'Set "outbound: false" if its calls reach a single system of your own, or "outbound: true" to hold them.'

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

/** Returns a finding for a ready entry, which may have many tools, and a finding for each distinct failure of its tools. */
export function toToolFindings(entry: string, listed: readonly ToolListing[], timeoutMs: number): Finding[] {
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
      const advice = needsLogin(reason)
        ? 'Run the command with the settings of the service. Running replicas use the login within 5 s.'
        : `Correct the entry ${entry} of tools in agent.yaml, or the resources named there.`
      return { state: 'fail', text: `tool ${entry}: ${reason}`, advice }
    }
    const names = failedTools.map(({ name }) => name)
    const listedNames =
      names.length > maxListedNames ? [...names.slice(0, maxListedNames), `${names.length - maxListedNames} others`] : names
    const advice = `The other tools of ${entry} work. Add these to "exclude" in the config of the entry to leave them out.`
    return { state: 'warn', text: `${listedNames.join(', ')}: ${reason}`, advice }
  })
  const states = ready.flatMap(({ name, tool }) => (tool?.state ? toStateFindings(name, tool.state()) : []))
  return [...(ready.length > 0 ? [{ state: 'ok' as const, text: readyText }] : []), ...states, ...faults]
}

const maxListedNames = 5

/** Findings about the data of a tool. */
function toStateFindings(name: string, { progress, faults }: ToolState): Finding[] {
  const others = faults.length > maxListedNames ? [`and ${faults.length - maxListedNames} others`] : []
  const listed = [...faults.slice(0, maxListedNames), ...others].join('; ')
  const advice = 'Everything else can be used. Correct or remove these, then the tool reads them again.'
  return [
    ...(progress === undefined ? [] : [{ state: 'ok' as const, text: `tool ${name}: ${progress}` }]),
    ...(faults.length === 0 ? [] : [{ state: 'warn' as const, text: `tool ${name}: ${listed}`, advice }]),
  ]
}

/** True for the reason of an MCP server that waits for the login of a person. */
function needsLogin(reason: string): boolean {
  return reason.includes('agent-core tool login ')
}
