import type { OperationTexts } from './operation-text.ts'

export const accessTexts: OperationTexts = {
  getMe: { description: 'Who the key stands for, and which routes it may use. 401: the key is not valid, expired or revoked.' },
  getRoles: { description: 'Use it to choose roles for `POST /core/v1/keys`.' },
  getKeys: { description: 'Use it to find keys that are not used or expire soon. Keys themselves are never shown again.' },
  postKeys: {
    description:
      'Use it to give an application or a colleague access. 422: a role is not known. 403: a role permits more than the key of the request.',
    requests: {
      'application/json': {
        viewer: { summary: 'A key that may read, for 30 days', value: { sub: 'alice', roles: ['viewer'], expires: '30d' } },
      },
    },
  },
  deleteKeys: {
    description: 'Take `created_by` from a key of `GET /core/v1/keys`. A caller that created none: an empty list.',
    parameters: { created_by: 'agent-core ann' },
  },
  deleteKeysByJti: { description: 'Take a `jti` from `GET /core/v1/keys`. A key of another tenant is 404.' },
  getConsoleSignInOptions: {
    description: 'Meant for the page of the console. `identity_provider` is null unless the service has one for the console.',
  },
  postConsoleCode: {
    description: 'Open `<address>/console/sign-in#code=<code>` in a browser. `agent-core console` does the same on the command line.',
  },
  postConsoleSession: {
    description:
      'Meant for the page of the console; programs send their key with each request. 401: the code or key is not valid, or the code was used before. 422: the body has none or several of the credentials.',
    requests: {
      'application/json': {
        code: { summary: 'A code of `POST /console/code`', value: { code: 'Yk3vQm5Yp0y2m1xk' } },
      },
    },
  },
  deleteConsoleSession: {
    description: 'Meant for the page of the console. 401: the request has no session. 403: the token is absent or wrong.',
  },
}
