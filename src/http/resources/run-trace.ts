import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { accessTo } from '../../access/permissions.ts'
import { createFindRunKey } from '../../runs/run-view.ts'
import type { RunStore } from '../../runs/run-store.ts'
import type { RunTraces } from '../../runs/trace/run-traces.ts'
import { principalOf } from '../server/authenticate.ts'
import { ErrorReply, Id, refusals, ValidationReply } from './schemas.ts'
import { RunTrace } from './trace-schemas.ts'
import { OwnerQuery } from './runs.ts'

const whereId = 'Take a `request_id` from `GET /core/v1/runs`, or from the header `request-id` of a chat.'
const whose =
  'An administrator names the run of another caller by `issuer` and `sub`; where several match, the reply is 409 `AmbiguousRun`.'

export interface RunTraceServices {
  traces: RunTraces
  runStore: Pick<RunStore, 'ownersOf'>
}

const params = Type.Object({ request_id: Id })

const Query = Type.Object({
  ...OwnerQuery.properties,
  span: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'The id of a span: the answer has this span alone, uncut. A model call also has `messages`.',
    }),
  ),
})

/** The trace of a run: what the run did, when, and why. */
export function runTraceRoutes(app: App, { traces, runStore }: RunTraceServices): void {
  const findKey = createFindRunKey(runStore)

  app.get(
    '/core/v1/runs/:request_id/trace',
    {
      config: { access: accessTo.readRun },
      schema: {
        tags: ['Runs'],
        summary: 'Get the trace of a run',
        description:
          'The parts of a run as spans: turns, model calls with their attempts, tool calls, sub-agents, approvals, waits, and changes of the process. ' +
          'The trace grows while the run lasts, and is kept as long as the run. Long values are cut, and their span has `truncated`; `span` gets a span with whole values.',
        details: () => ({
          description: `Use it to see why a run took its time, or what a model was asked. ${whereId} ${whose} A span that is not there is 404.`,
          parameters: { span: 'model:1' },
        }),
        params,
        querystring: Query,
        response: { 200: RunTrace, 404: ErrorReply, 409: ErrorReply, 410: ErrorReply, 422: ValidationReply, ...refusals },
      },
    },
    async (request) => {
      const { request_id: requestId } = request.params
      const { issuer, sub, span } = request.query
      const key = await findKey(principalOf(request), { requestId, issuer, sub })
      return span === undefined ? traces.find(key) : traces.findSpan(key, span)
    },
  )
}
