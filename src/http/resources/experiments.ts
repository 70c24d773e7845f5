import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { invalid, type Fault } from '../../errors.ts'
import type {
  ExperimentDraft,
  Experiments,
  ExperimentView,
  ProposedWrite,
  ResultView,
  TraceEntry,
  Variant,
  VariantResultView,
  VariantView,
} from '../../evals/experiments.ts'
import { canonicalJson } from '../../json/canonical.ts'
import {
  Experiment,
  ExperimentBody,
  ExperimentPage,
  ExperimentResult,
  ExperimentResultPage,
  outcomes,
  type VariantBody,
} from '../schemas/experiments.ts'
import { Id, IdPageQuery, pageLimit, positionOf, replies, route, toIso } from '../schemas/shared.ts'
import type { App } from '../server/app.ts'
import { principalOf } from '../server/authenticate.ts'
import { contentBytes } from '../server/read-bodies.ts'

interface ExperimentServices {
  experiments: Experiments
}

/** Routes of experiments: datasets that are replayed with variants of the agent. */
export const experimentRoutes = [listRoute, createRoute, readRoute, removeRoute, resultsRoute, resultRoute] as const

const path = '/core/v1/experiments'
const tag = 'Experiments'
const params = Type.Object({ id: Id })
const whereId = 'Take an `id` from `GET /core/v1/experiments`. An experiment of another tenant is 404.'

function listRoute(app: App, { experiments }: ExperimentServices): void {
  app.get(
    path,
    route('evals.read', tag, {
      summary: 'List experiments, newest first',
      text: 'The experiments of the tenant, with their figures so far.',
      querystring: IdPageQuery,
      response: replies({ 200: ExperimentPage }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      const rows = await experiments.list(principalOf(request), { limit: limit + 1, before })
      return { experiments: rows.slice(0, limit).map(toView), ...positionOf(rows, limit) }
    },
  )
}

function createRoute(app: App, { experiments }: ExperimentServices): void {
  app.post(
    path,
    route({ access: 'evals.write', maxBodyBytes: contentBytes }, tag, {
      summary: 'Start an experiment: replay a dataset with a variant of the agent',
      description:
        'Each example is answered anew by each variant, and its calls are answered by the recording. A call that writes is never executed: writes that the recording does not have are listed as `proposed_writes`.',
      text: `The datasets, the scorers and the configurations are kept as they are now: later changes do not count. A repeat with the same \`request-id\` starts no other experiment. Read \`GET /core/v1/experiments/{id}\` until \`status\` is \`completed\`.

- 403: \`patch\` and \`text\` need the permission \`config.write\` too.
- 404: there is no such dataset or version.
- 409 \`RequestIdReused\`: the caller has sent the \`request-id\` with another body.
- 422: a variant is not valid, with the places of \`PUT /core/v1/agent/config\`; a dataset has no examples; a tool of \`tools.live\` has effect write.`,
      examples: {
        recorded: { summary: 'Prove that the replay is exact', value: { dataset_id: 'core', baseline: { recorded: true } } },
      },
      body: ExperimentBody,
      response: replies({ 202: Experiment }, 404, 409, 422),
    }),
    async (request, reply) => {
      const { body } = request
      const caller = principalOf(request)
      const draft = toDraft(body)
      const bodyHash = hash('sha256', canonicalJson(body))
      void reply.code(202)
      return toView(await experiments.create(caller, draft, { requestId: request.id, bodyHash }))
    },
  )
}

function readRoute(app: App, { experiments }: ExperimentServices): void {
  app.get(
    `${path}/:id`,
    route('evals.read', tag, {
      summary: 'Get an experiment with its figures so far',
      text: whereId,
      params,
      response: replies({ 200: Experiment }, 404, 422),
    }),
    async (request) => toView(await experiments.find(principalOf(request), request.params.id)),
  )
}

function removeRoute(app: App, { experiments }: ExperimentServices): void {
  app.delete(
    `${path}/:id`,
    route('evals.write', tag, {
      summary: 'Cancel an experiment, or delete one that has ended',
      description: 'A cancelled experiment keeps the results so far (202). A second request deletes it with them (204).',
      text: whereId,
      params,
      response: replies({ 202: Experiment, 204: Type.Null() }, 404, 422),
    }),
    async (request, reply) => {
      const cancelled = await experiments.remove(principalOf(request), request.params.id)
      return cancelled ? reply.code(202).send(toView(cancelled)) : reply.code(204).send(null)
    },
  )
}

function resultsRoute(app: App, { experiments }: ExperimentServices): void {
  app.get(
    `${path}/:id/results`,
    route('evals.read', tag, {
      summary: 'List the results of an experiment, by example',
      text: `Both outputs, the first divergence, the proposed writes and the scores, in the order of examples and repetitions. A page with long results ends before its \`limit\`: read on while \`has_more\` is true. ${whereId}`,
      params,
      querystring: Type.Object({
        limit: pageLimit,
        offset: Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0, description: 'The `offset` of the page before.' }),
        outcome: Type.Optional(Type.Enum([...outcomes], { description: 'Only results whose last variant has this outcome.' })),
      }),
      response: replies({ 200: ExperimentResultPage }, 404, 422),
    }),
    async (request) => {
      const { limit, offset, outcome } = request.query
      const { results, hasMore } = await experiments.results(principalOf(request), request.params.id, { limit, offset, outcome })
      return { results: results.map(toResult), offset: offset + results.length, has_more: hasMore }
    },
  )
}

function resultRoute(app: App, { experiments }: ExperimentServices): void {
  app.get(
    `${path}/:id/results/:example_id`,
    route('evals.read', tag, {
      summary: 'Get the result of an example, with the traces of the run and of the replays',
      text: `Use it to see where a replay leaves the recording. ${whereId}`,
      params: Type.Object({ id: Id, example_id: Id }),
      querystring: Type.Object({ repetition: Type.Integer({ minimum: 1, maximum: 10, default: 1 }) }),
      response: replies({ 200: ExperimentResult }, 404, 422),
    }),
    async (request) => {
      const { id, example_id: example } = request.params
      return toResult(await experiments.result(principalOf(request), id, example, request.query.repetition))
    },
  )
}

function toDraft({
  dataset_id: id,
  dataset_ids: ids,
  baseline,
  candidate,
  scorers,
  repetitions,
  tools,
}: Type.Static<typeof ExperimentBody>): ExperimentDraft {
  if (id != null && ids) throw invalid(['body', 'dataset_ids'], 'belongs to an experiment without `dataset_id`')
  const datasets = id == null ? ids : [id]
  if (!datasets) throw invalid(['body', 'dataset_id'], 'is required without `dataset_ids`', 'missing')
  return {
    datasets,
    baseline: baseline ? toVariant(baseline, ['body', 'baseline']) : undefined,
    candidate: candidate ? toVariant(candidate, ['body', 'candidate']) : undefined,
    scorers: scorers ?? undefined,
    repetitions: repetitions ?? undefined,
    tools: { ...(tools?.on_miss != null && { onMiss: tools.on_miss }), ...(tools?.live && { live: tools.live }) },
  }
}

const variantFields = ['version', 'patch', 'text', 'recorded'] as const

function toVariant({ version, patch, base, text, recorded }: VariantBody, at: Fault['loc']): Variant {
  const values = { version, patch, text, recorded }
  const [field, other] = variantFields.filter((name) => values[name] != null)
  if (field === undefined) throw invalid(at, 'must have `version`, `patch`, `text` or `recorded`', 'missing')
  if (other !== undefined) throw invalid([...at, other], `belongs to a variant without \`${field}\``)
  if (base != null && field !== 'patch') throw invalid([...at, 'base'], 'belongs to a variant with `patch`')
  if (version != null) return { kind: 'version', version }
  if (patch) return { kind: 'patch', patch, ...(base != null && { base }) }
  return text == null ? { kind: 'recorded' } : { kind: 'text', text }
}

function toView(experiment: ExperimentView): Type.Static<typeof Experiment> {
  const { createdAt, startedAt, endedAt, createdBy, error, tools, scorers, variants, ...same } = experiment
  return {
    ...same,
    error: error ?? null,
    created_at: toIso(createdAt),
    started_at: startedAt === undefined ? null : toIso(startedAt),
    ended_at: endedAt === undefined ? null : toIso(endedAt),
    created_by: createdBy,
    scorers: [...scorers],
    tools: { on_miss: tools.onMiss, live: [...tools.live] },
    variants: variants.map(toVariantView),
  }
}

function toVariantView({ version, configHash, passRate, cost, judgeCost, p50, ...same }: VariantView) {
  return {
    ...same,
    version: version ?? null,
    config_hash: configHash ?? null,
    pass_rate: passRate ?? null,
    cost: cost ?? null,
    judge_cost: judgeCost ?? null,
    p50: p50 ?? null,
  }
}

function toResult(result: ResultView): Type.Static<typeof ExperimentResult> {
  const { exampleId, exampleName, datasetId, repetition, question, recorded, baseline, candidate, proposedWrites } = result
  return {
    example_id: exampleId,
    example_name: exampleName,
    dataset_id: datasetId,
    repetition,
    question,
    recorded: { output: recorded.output, request_id: recorded.requestId ?? null, ...toTrace(recorded.trace) },
    baseline: baseline ? toVariantResult(baseline) : null,
    candidate: candidate ? toVariantResult(candidate) : null,
    proposed_writes: proposedWrites.map(toProposedWrite),
  }
}

function toVariantResult(result: VariantResultView) {
  const { outcome, output, divergence, proposedWrites, effects, scores, cost, tokens, durationMs, requestId, error, isEqual, trace } =
    result
  return {
    outcome,
    output,
    divergence: divergence ?? null,
    proposed_writes: proposedWrites.map(toProposedWrite),
    effects,
    scores,
    cost: cost ?? null,
    tokens,
    duration_ms: durationMs,
    request_id: requestId,
    error: error ?? null,
    ...(isEqual !== undefined && { is_equal: isEqual }),
    ...toTrace(trace),
  }
}

function toProposedWrite({ toolInput, ...same }: ProposedWrite) {
  return { ...same, tool_input: toolInput }
}

function toTrace(trace: TraceEntry[] | undefined) {
  return (
    trace && { trace: trace.map(({ toolInput, ...entry }) => ({ ...entry, ...(toolInput !== undefined && { tool_input: toolInput }) })) }
  )
}
