import type { ErrorType } from './error-type.ts'

/** Requests that cannot be answered, whatever the state of the service. */
export const requestErrors = {
  invalid_input: {
    status: 400,
    errorType: 'InvalidInput',
    when: 'An image, a context file or a parameter of a tool cannot be used. The message names it.',
    remedy: 'Correct the named part of the request.',
  },
  unauthorized: {
    status: 401,
    errorType: 'Unauthorized',
    when: 'The key is missing, malformed, expired, revoked, or signed by somebody else.',
    remedy: 'Send a valid key in `x-service-access`, or as `authorization: Bearer`.',
  },
  forbidden: {
    status: 403,
    errorType: 'Forbidden',
    when: 'The key lacks the permission that the message names, or a page of another origin sent the request.',
    remedy: 'Use a key with a role that has the permission.',
  },
  not_found: {
    status: 404,
    errorType: 'NotFound',
    when: 'The route, session, run, file or tool does not exist, or belongs to another caller.',
    remedy: 'Check the id, and the key: callers see their own data alone.',
  },
  method_not_allowed: {
    status: 405,
    errorType: 'MethodNotAllowed',
    when: 'The path exists, but not with this method.',
    remedy: 'Use a method of the header `allow`.',
  },
  request_timeout: {
    status: 408,
    errorType: 'RequestTimeout',
    when: 'The body of the request did not arrive in time.',
    remedy: 'Send the request again.',
  },
  input_too_large: {
    status: 413,
    errorType: 'MaxInputException',
    when: 'The messages are longer than `limits.max_input_characters`, or the body is larger than the route accepts.',
    remedy: 'Send less, or raise the limit (`limits` in agent.yaml, `HTTP_BODY_LIMIT`).',
  },
  upload_quota: {
    status: 413,
    errorType: 'UploadQuotaExceeded',
    when: 'The uploaded files of the caller, or of the tenant, have as many bytes as `limits` allows.',
    remedy: 'Delete files that are no longer needed, or raise the limit (`limits` in agent.yaml).',
  },
  unsupported_media_type: {
    status: 415,
    errorType: 'UnsupportedMediaType',
    when: 'The route does not accept the content type.',
    remedy: 'Send `content-type: application/json`.',
  },
  validation: {
    status: 422,
    errorType: 'ValidationError',
    when: 'The request does not have the shape that the route expects. Each fault has its place and a sentence.',
    remedy: 'Correct the named fields.',
  },
  rate_limited: {
    status: 429,
    errorType: 'RateLimited',
    when: 'The caller has reached a limit of `access.rate_limits`.',
    remedy: 'Wait for the seconds in `retry-after`.',
  },
} as const satisfies Record<string, ErrorType>
