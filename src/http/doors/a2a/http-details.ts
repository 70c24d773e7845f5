import type { OperationText } from '../../schemas/route.ts'

const shared = { parameters: { 'a2a-version': '1.0' }, prefilled: ['a2a-version'] }

const examples = (summary: string, value: unknown) => ({ examples: { message: { summary, value } } })

const describe = (text: string, more: OperationText = {}): OperationText => ({ text, ...shared, ...more })

const message = (text: string) => ({ message: { messageId: 'example-1', role: 'ROLE_USER', parts: [{ text }] } })

const config = {
  id: 'example',
  url: 'https://hooks.example.com/results',
  token: 'a text that the receiver knows',
  authentication: { scheme: 'Bearer', credentials: 'a credential of the receiver' },
}

/** Texts of the HTTP+JSON binding of A2A, by the name of the operation. */
export const a2aDetails = {
  SendMessage: describe(
    'Starts a task and answers with it when it has ended or waits for the caller; with `configuration.returnImmediately` at once. A message with `taskId` answers a task that waits. `configuration.taskPushNotificationConfig` names an address that is notified when the task waits and when it has ended. 400 with the reason `CONTENT_TYPE_NOT_SUPPORTED`: a part is neither text nor a file that the service can read.',
    examples('A question', message('What were the total sales by region?')),
  ),
  SendMessageStream: describe(
    'Like `message:send`, with the task, its steps, the growing answer and its end as server-sent events. A task goes on after its client has left.',
    examples('A question', message('What is 17 * 23?')),
  ),
  ListTasks: describe(
    "The caller's own tasks, each a run of any protocol. `totalSize` counts at most 10,000. `artifacts` are left out unless they are requested.",
    {
      parameters: {
        ...shared.parameters,
        contextId: 'my-first-chat',
        status: 'TASK_STATE_COMPLETED',
        statusTimestampAfter: '2026-11-22T08:00:00Z',
        includeArtifacts: 'true',
      },
    },
  ),
  GetTask: describe(
    'The current state of a task, with its question, its answer and its files. A link to a file is valid for a short time.',
  ),
  CancelTask: describe('Ends a task. 400 with the reason `TASK_NOT_CANCELABLE`: it has ended already.'),
  Subscribe: describe(
    'Begins with the current task and sends its updates until it has ended, also while it waits for the caller. 400 with the reason `UNSUPPORTED_OPERATION`: the task has ended.',
  ),
  SubscribeByGet: describe('The same as with POST.'),
  CreatePushConfig: describe(
    'The address is notified when the task waits for the caller and when it has ended; at once if that is so already. A config with the same `id` is replaced. Each notification is the current task as a `StreamResponse`, with the `authentication` and the `token` of the config and a signature like that of callbacks. Answers never show the secrets. A task has at most 10 configs.',
    examples('An address', config),
  ),
  ListPushConfigs: describe('In the order of their ids, without their secrets.'),
  GetPushConfig: describe('Without its secrets.'),
  DeletePushConfig: describe('No further notification is sent. Deleting a config again is a success.'),
  GetExtendedCard: describe(
    'The card with what the key may use: descriptions of the tools with the permission `tools.read`, own sub-agents with `sub_agents.read`.',
  ),
} satisfies Record<string, OperationText>
