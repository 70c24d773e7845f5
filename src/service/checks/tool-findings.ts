import type { ToolListing, ToolState } from '../../agent/tool.ts'
import type { Finding } from '../../models/check-models.ts'

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
