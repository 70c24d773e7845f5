import type { Principal } from '../../../../access/permissions.ts'
import { ServiceError, type Fault } from '../../../../errors.ts'
import type { ApprovalStore } from '../../../../runs/approvals/approval-store.ts'
import type { RunStore } from '../../../../runs/run-store.ts'
import { isReadable } from '../../../../runs/run.ts'
import { requestIdOfItem, toCallIds, toToolCallId } from '../ids.ts'
import type { Item } from './input.ts'
import type { OutputItem } from './items.ts'
import { findRun, outputOf } from './stored.ts'

export interface ReferenceServices {
  runStore: Pick<RunStore, 'find'>
  openCalls: Pick<ApprovalStore, 'clientCalls'>
}

/** Replaces references by the items that they name. Clients refer to items of earlier responses by default. Reasoning is dropped. */
export async function withoutReferences(services: ReferenceServices, principal: Principal, items: readonly Item[]): Promise<Item[]> {
  const ids = items.flatMap((item) => (item.type === 'item_reference' ? [item.id] : []))
  if (ids.length === 0) return items.filter(({ type }) => type !== 'reasoning')
  const [messages, calls] = await Promise.all([messagesOf(services, principal, ids), callsOf(services, principal, ids)])
  return items.flatMap((item): Item[] => {
    if (item.type === 'reasoning') return []
    if (item.type !== 'item_reference') return [item]
    const { id, at } = item
    if (id.startsWith('rs_')) return []
    const found = messages.get(id) ?? calls.get(id)
    if (!found) throw noItem(id, at)
    return [toItem(found, at)]
  })
}

function toItem(item: OutputItem, at: Fault['loc']): Item {
  switch (item.type) {
    case 'message':
      return { type: 'message', at, message: { role: 'assistant', content: item.content.map(({ text }) => text).join('') } }
    case 'function_call':
      return { type: 'function_call', at, callId: item.call_id, name: item.name, arguments: item.arguments }
    case 'reasoning':
      return { type: 'reasoning', at }
  }
}

async function messagesOf(
  { runStore }: ReferenceServices,
  { tenant, owner }: Principal,
  ids: readonly string[],
): Promise<Map<string, OutputItem>> {
  const requestIds = new Set(ids.flatMap((id) => requestIdOfItem(id) ?? []))
  const items = new Map<string, OutputItem>()
  // One after another: a log may be large.
  for (const requestId of requestIds) {
    const run = await findRun(runStore, { tenant, owner, requestId })
    for (const item of run && isReadable(run) ? outputOf(run) : []) items.set(item.id, item)
  }
  return items
}

async function callsOf({ openCalls }: ReferenceServices, principal: Principal, ids: readonly string[]): Promise<Map<string, OutputItem>> {
  const callIds = ids.filter((id) => id.startsWith('fc_')).map(toToolCallId)
  const calls = await openCalls.clientCalls(principal, callIds)
  return new Map(
    calls.map(({ callId, tool, input }): [string, OutputItem] => {
      const callIdsOfItem = toCallIds(callId)
      const call = {
        type: 'function_call' as const,
        status: 'completed' as const,
        ...callIdsOfItem,
        name: tool,
        arguments: JSON.stringify(input),
      }
      return [callIdsOfItem.id, call]
    }),
  )
}

function noItem(id: string, at: Fault['loc']): ServiceError {
  const faults = [{ loc: [...at, 'id'], msg: `there is no item ${id}`, type: 'not_found' }]
  return new ServiceError('not_found', `There is no item ${id}.`, { faults })
}
