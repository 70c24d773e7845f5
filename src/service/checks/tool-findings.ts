import type { ToolListing } from '../../agent/tool.ts'
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
