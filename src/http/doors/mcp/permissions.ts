import { accessTo, lacking, permits } from '../../../access/operations.ts'
import type { Permission } from '../../../access/permissions.ts'
import type { Principal } from '../../../access/principal.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { askName } from './ask-tool.ts'

/** Methods that need more than the permission to connect. */
const accessOf: Readonly<Record<string, readonly Permission[]>> = {
  /** The address of the resource says which permission is required. */
  'resources/read': [...accessTo.linkArtifact, ...accessTo.readDocument],
  'tasks/cancel': accessTo.cancelRun,
  'tasks/get': accessTo.readRun,
  'tasks/list': accessTo.readRun,
  'tasks/result': accessTo.readRun,
  'tasks/update': accessTo.decideCall,
}

/** The error for a message that the key does not permit; undefined for permitted messages. Checked before the library handles the message. */
export function permissionErrorOf(message: unknown, principal: Pick<Principal, 'permissions'>): Error | undefined {
  const { method, params } = fieldsOf(message)
  const isToolCall = method === 'tools/call' && fieldsOf(params)['name'] !== askName
  const needed = isToolCall
    ? accessTo.executeTool
    : typeof method === 'string' && Object.hasOwn(accessOf, method)
      ? accessOf[method]
      : undefined
  return needed === undefined || permits(principal, needed) ? undefined : lacking(needed)
}
