import type { Task } from '@a2a-js/sdk'
import { UnsupportedOperationError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { accessTo, permits, requireAccess } from '../../../access/permissions.ts'
import type { Fault } from '../../../errors.ts'
import type { RecentRun } from '../../../runs/run-list.ts'
import type { StoredRun } from '../../../runs/run-store.ts'
import type { LoggedEvent } from '../../../runs/run.ts'
import { waitForEnd } from '../../reader.ts'
import type { Caller } from '../protocols.ts'
import { legacyVersion, toCard, toExtendedCard, versionOf } from './card.ts'
import { follow, subscribe } from './projection.ts'
import { createPushMethods } from './push-configs.ts'
import { findTask, followTask, keyOf, openTask, type A2aCall, type A2aServices } from './task-runs.ts'
import { checkHistoryLength, filesOf, listTasks, readTask, withLinks } from './tasks.ts'

/**
 * Implements the A2A methods for one caller. A task is a run with the request id as task id; a context is a session. No other state is stored, so
 * tasks survive a restart and exist on every replica. A disconnect does not end a task, `CancelTask` does. Each method needs the permissions of the
 * REST route for the same operation. `at`: the path of the message in the request, for faults.
 */
export function createRequestHandler(services: A2aServices, caller: Caller, at: Fault['loc']): A2ARequestHandler {
  const { principal, request } = caller
  const links = permits(principal, accessTo.linkArtifact) ? services.artifacts : undefined
  const call = { services, caller, at, links, isLegacy: versionOf(request) === legacyVersion }
  return {
    getAgentCard: async () => toCard(services.agent(), services),
    getAuthenticatedExtendedAgentCard: () => toExtendedCard(services.agent(), { ...services, principal }),
    ...messageMethods(call),
    ...taskMethods(call),
    ...createPushMethods({ ...services, principal, isLegacy: call.isLegacy, find: (id) => findTask(call, id) }),
  }
}

function messageMethods(call: A2aCall): Pick<A2ARequestHandler, 'sendMessage' | 'sendMessageStream' | 'resubscribe'> {
  const { services, caller } = call
  const readerOf = (requestId: string) => ({
    async toFiles(events: readonly LoggedEvent[]) {
      const made = filesOf(events)
      return made.length === 0 ? [] : withLinks(await findTask(call, requestId), made, call.links)
    },
    openCalls: () => services.openCalls.openOf(keyOf(call, requestId)),
    disconnected: caller.disconnected,
  })
  return {
    async sendMessage(request) {
      const { run } = await openTask(call, request, 'chain')
      if (request.configuration?.returnImmediately !== true) await waitForEnd(run, caller.disconnected)
      return answerTask(call, run.requestId, request.configuration?.historyLength)
    },
    async *sendMessageStream(request) {
      const { run, received } = await openTask(call, request, 'chain_streaming')
      yield* follow(run, readerOf(run.requestId), received)
    },
    async *resubscribe({ id }) {
      requireAccess(caller.principal, accessTo.readRun)
      const run = await findTask(call, id)
      if (run.endedAt !== undefined) throw new UnsupportedOperationError(`Task ${id} has ended.`)
      const task = await taskOf(call, run)
      yield* subscribe({ ...readerOf(id), task, open: () => followTask(call, run) })
    },
  }
}

function taskMethods(call: A2aCall): Pick<A2ARequestHandler, 'getTask' | 'listTasks' | 'cancelTask'> {
  const { services, caller } = call
  const { principal } = caller
  return {
    async getTask({ id, historyLength }) {
      requireAccess(principal, accessTo.readRun)
      return answerTask(call, id, historyLength)
    },
    async listTasks(request) {
      requireAccess(principal, accessTo.readRun)
      const toTask = async ({ run }: RecentRun) => withHistory(await taskOf(call, run), request.historyLength)
      return listTasks(principal, request, { recentRuns: services.recentRuns, toTask })
    },
    async cancelTask({ id }) {
      requireAccess(principal, accessTo.cancelRun)
      await findTask(call, id)
      await services.runs.cancel(keyOf(call, id))
      const cancelled = await answerTask(call, id, undefined)
      return permits(principal, accessTo.readRun) ? cancelled : { ...cancelled, history: [], artifacts: [] }
    },
  }
}

async function answerTask(call: A2aCall, id: string, historyLength: number | undefined): Promise<Task> {
  checkHistoryLength(historyLength)
  return withHistory(await taskOf(call, await findTask(call, id)), historyLength)
}

function taskOf({ services: { openCalls }, links }: A2aCall, run: StoredRun): Promise<Task> {
  return readTask(run, { links, openCalls })
}

/** A task has one message of its history: the question. */
function withHistory(task: Task, historyLength: number | undefined): Task {
  return historyLength === 0 ? { ...task, history: [] } : task
}
