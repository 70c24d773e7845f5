import type { OperationTexts } from './operation-text.ts'

export const serviceTexts: OperationTexts = {
  getHealth: { description: 'For liveness probes: 200 as long as the process can answer at all. It needs no key.' },
  getHealthReady: {
    description:
      'For readiness probes and load balancers: 503 while the store cannot be reached, and while the service stops. It needs no key.',
  },
  getOpenapiJson: {
    description: 'OpenAPI 3.1, for generators of clients. Every example of the document works on the sample agent. It needs no key.',
  },
}
