import type { ShowImage, Tool } from '../../agent/tool.ts'
import type { KeepArtifact } from '../../agent/messages.ts'
import { forwardTrace, type RunTrace } from '../../agent/model.ts'
import { react } from '../../agent/loop.ts'
import type { LoopOptions } from '../../agent/options.ts'
import { planExecute } from '../../agent/plan.ts'
import { isOfPlan } from '../../agent/history.ts'
import { offerTools } from '../../agent/tool-offer.ts'
import { fitName } from '../../agent/tool-names.ts'
import type { WorkflowType } from '../../configuration/schema.ts'
import { createDelegation } from '../../sub-agents/delegation.ts'
import type { SubAgent } from '../../sub-agents/sub-agent-store.ts'
import { toAnswerSchema } from './answer-schema.ts'
import type { RunPorts } from './ports.ts'
import { artifactsOf, earlierIn, suspensionIn, type Progress } from './progress.ts'
import { isDown } from '../intake/checks.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { createShowImage, ownResultImages } from '../attachments/result-images.ts'

/** What the agent of a run is given: the model, the tools, the transcript, and the ports of a run. */
export function agentOptions(
  run: LiveRun,
  progress: Progress,
  list: readonly SubAgent[],
  { keeper, images, schemas, subAgents, observer, onFault, now, newId }: RunPorts,
): LoopOptions {
  const { agent, key, request, signal } = run
  const { config, model } = agent
  const listings = agent.tools.list()
  const configured = listings.flatMap((listing): Tool[] => (listing.tool ? [listing.tool] : []))
  const tools = [...configured, ...progress.extraTools]
  const { traceparent } = request
  const tracer = observer?.traceOf?.(run) ?? (traceparent === undefined ? undefined : forwardTrace(traceparent))
  const common = {
    trace: measured(run, run.trace.over(tracer, now)),
    headers: request.headers,
    filters: request.filters,
    caller: { tenant: key.tenant, owner: key.owner },
    session: progress.turn.session,
    sessionId: run.sessionId,
    contextFiles: request.contextFiles ?? [],
    isDown: (tool: string) => isDown(tool, listings),
    // Models use the fitted name of a tool.
    latestOutput: (tool: string) =>
      progress.steps.findLast((step) => (step.tool === tool || fitName(step.tool) === tool) && step.status === 'success')?.output,
    windowTokens: config.memory.history_tokens,
    keepArtifact: atFirstCall((): KeepArtifact => keeper(run, progress.turn.session, artifactsOf(progress))),
    showImage: model.seesImages ? atFirstCall((): ShowImage => createShowImage(key, images, ownResultImages(progress))) : undefined,
    decisionFor: (callId: string) => progress.decisions.get(callId),
    suspensionOf: (callId: string) => suspensionIn(progress, callId),
    stopReason: () => reasonOfStop(run),
    now,
    newId,
  }
  const surroundings = { common, caller: key, agent, tools, subAgents, onFault: (error: unknown) => onFault(run, error) }
  const delegation = createDelegation(surroundings, list)
  return {
    ...common,
    workflow: (workflowBegun(progress) ?? config.workflow_type) === 'plan_execute' ? planExecute : react,
    model,
    ...(request.modelOptions && { modelOptions: request.modelOptions }),
    system: progress.system,
    messages: progress.messages,
    ...offerTools({
      // Sub-agents do not get the tools of the client.
      tools: () => [...tools, ...delegation.tools(), ...progress.clientTools],
      findable: configured,
      filters: request.filters,
      question: run.input,
      search: agent.tools.search,
      find: agent.tools.find,
    }),
    answerSchema: toAnswerSchema(request.responseSchema, config.limits.max_schema_repairs, (schema, value) =>
      schemas.faultsOf('answer', schema, value, key),
    ),
    maxIterations: config.max_iterations,
    iterations: progress.iterations,
    earlierMessages: (callId) => earlierIn(progress, callId),
    signal,
  }
}

/** A trace that counts the model calls of the run's own agent. Those of other agents are a part of their tool call. */
function measured({ times }: LiveRun, trace: RunTrace): RunTrace {
  return {
    ...trace,
    modelCall(callId) {
      if (callId === undefined) times.endAll('model')
      if (callId === undefined) times.begin('model')
      return trace.modelCall(callId)
    },
  }
}

/** Creates a function when it is first called: most runs keep no artifacts and show no images of tools. */
function atFirstCall<Args extends unknown[], Result>(create: () => (...args: Args) => Result): (...args: Args) => Result {
  let created: ((...args: Args) => Result) | undefined
  return (...args) => (created ??= create())(...args)
}

/** The workflow of a resumed run stays the same after a change of the configuration: a new plan in the middle would repeat steps. */
function workflowBegun({ messages, ownFrom }: Progress): WorkflowType | undefined {
  const runMessages = messages.slice(ownFrom)
  if (runMessages.length === 0) return undefined
  return runMessages.some(isOfPlan) ? 'plan_execute' : 'react'
}

/** Why a run was stopped whose end is neither an answer nor a failure. */
export function reasonOfStop({ stopCause }: LiveRun): 'timeout' | 'cancelled' {
  return stopCause === 'timeout' ? 'timeout' : 'cancelled'
}
