import { notifications } from '@mantine/notifications'
import { messageOf } from '../api/errors.ts'

/** Says in passing that something was done: "The run was cancelled." */
export function notify(message: string): void {
  notifications.show({ message })
}

/** Says in passing what could not be done, and why. */
export function notifyFailure(title: string, error: unknown): void {
  notifications.show({ title, message: messageOf(error), color: 'red', autoClose: 10_000 })
}
