import type { OpenRun } from '../../../runs/open-run.ts'
import type { LoggedEvent } from '../../../runs/run.ts'
import { waitForEnd } from '../../reader.ts'
import type { McpCall } from './call.ts'

/** Waits for the last event of a run. A client with a progress token receives the steps after event `after` as progress. */
export async function followWithProgress({ context, disconnected, report }: McpCall, run: OpenRun, after: number): Promise<void> {
  if (context.mcpReq._meta?.progressToken === undefined) {
    // Without a progress token the client reads no events.
    return waitForEnd(run, disconnected)
  }
  for await (const { events } of run.log.follow(after, disconnected)) {
    for (const text of events.flatMap(toProgress)) await report(text)
  }
  await run.ended
}

function toProgress(event: LoggedEvent): string[] {
  switch (event.type) {
    case 'step_start':
      return [`${event.step.tool} has started.`]
    case 'step_end':
      return [`${event.step.tool} has ended: ${event.step.status}.`]
    case 'text':
    case 'retrying':
    case 'interrupt':
    case 'end':
      return []
  }
}
