import { conflictErrors } from './error-types/conflict-errors.ts'
import { requestErrors } from './error-types/request-errors.ts'
import { serviceErrors } from './error-types/service-errors.ts'

/** The errors of the service by their code. */
export const errorTypes = { ...requestErrors, ...conflictErrors, ...serviceErrors }

export type ErrorCode = keyof typeof errorTypes
