import { messageOf } from '../api/errors.ts'
import { newId } from '../api/ids.ts'
import { createStore } from '../api/store.ts'

/** A message in passing. */
export interface Toast {
  id: string
  title?: string
  message: string
  isFailure: boolean
}

const shownMs = 5_000
const failureMs = 12_000
const maxToasts = 4

/** Messages that are shown at the moment, the newest last. */
export const toasts = createStore<readonly Toast[]>([])

/** Says in passing that something was done: "The run was cancelled." */
export function notify(message: string): void {
  add({ id: newId(), message, isFailure: false }, shownMs)
}

/** Says in passing what could not be done, and why. */
export function notifyFailure(title: string, error: unknown): void {
  add({ id: newId(), title, message: messageOf(error), isFailure: true }, failureMs)
}

export function dismiss(id: string): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id))
}

function add(toast: Toast, ms: number): void {
  toasts.set([...toasts.get(), toast].slice(-maxToasts))
  setTimeout(() => dismiss(toast.id), ms)
}
