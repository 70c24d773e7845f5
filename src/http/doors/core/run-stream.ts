import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { RunStore } from '../../../runs/run-store.ts'
import { findReadable, keyOfShownRun, type NamedRunServices, OwnerQuery, runParams, whereId, whose } from '../../named-runs.ts'
import { followNamed, type OpenChat, type ReaderServices } from '../../reader.ts'
import { eventStream } from '../../schemas/chat.ts'
import { replies, route } from '../../schemas/shared.ts'
import { lastEventHeader, lastReceivedOf, sendRun } from '../../send-run.ts'
import type { App } from '../../server/app.ts'
import { streamChunks } from './chat.ts'

const ended = Type.Null({ description: 'The run has ended and `last-event-id` is its last event.' })

/** The stream of a run that has begun before, as chunks. */
export function runStreamRoute(app: App, services: ReaderServices & NamedRunServices & { runStore: Pick<RunStore, 'find'> }): void {
  const { runStore } = services
  app.get(
    '/core/v1/runs/:request_id/stream',
    {
      ...route(accessTo.readRun, 'Runs', {
        summary: 'Stream the events of a run, from the start or after last-event-id, then live',
        text: `The events of a run from the first one, or after the one that \`last-event-id\` names, then live until its end: nothing is lost or repeated. Use it after a broken connection, and to watch a run that somebody else started. The chunks are those of \`POST /core/v1/chain_streaming\`. 204 means that there are no further events.

${whereId} ${whose} A run that failed before its first event is answered with its error.`,
        params: runParams,
        querystring: OwnerQuery,
        headers: Type.Object(lastEventHeader),
        // A run that failed before its first event is answered with its error; 409 also means an ambiguous id.
        response: replies({ 200: eventStream, 204: ended }, 404, 409, 410, 422, 502),
      }),
      // A HEAD request would read the whole run without a reader.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const key = await keyOfShownRun(services, request)
      const received = lastReceivedOf(request, key.requestId)
      const follow = async (): Promise<OpenChat> => {
        await findReadable(runStore, key)
        return followNamed(services, { request, reply }, key)
      }
      return sendRun(reply, { chat: follow() }, { ...received, render: () => streamChunks(key.requestId) })
    },
  )
}
