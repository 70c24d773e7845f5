import type { OperationTexts } from './operation-text.ts'

const yaml = 'description: Answers questions about orders.\ntools:\n  - name: calculator\n'

export const configurationTexts: OperationTexts = {
  getMetadata: {
    description: 'What a page about the agent shows: name, description, conversation starters, and what it can do.',
  },
  getAgentModels: {
    description:
      'The models of `llms`, in the order in which they answer. What a model can do is from a table of the service, or assumed where the table does not name the model; the service never asks the provider. A setting that a model does not have is a warning of `config check`, of `doctor` and of `PUT /core/v1/agent/config`.',
  },
  getAgentConfig: {
    description: 'The header `etag` is the version, for `if-match` of a change.',
    parameters: { format: 'json' },
  },
  putAgentConfig: {
    description: `A valid change takes effect within 2 s on all replicas, without a restart; runs in progress keep the configuration with which they began. The configuration before is kept as a backup and in the history. The examples only check a change: remove \`validate_only\` to make it.

- 403: the change has a new command, code or environment of a process (\`CONFIG_CODE=allow\` permits it).
- 412: \`if-match\` is not the version in use: somebody else changed the configuration.
- 422: the result is not valid; each fault has its path, and nothing changes.`,
    parameters: { validate_only: true, in_memory_only: false },
    prefilled: ['validate_only'],
    requests: {
      'application/json': {
        description: {
          summary: 'Check another description',
          value: { configuration: { description: 'Answers questions about sales.' }, validate_only: true },
        },
        model: {
          summary: 'Check another model',
          value: {
            configuration: { llms: { primary: { provider: 'openai-compatible', model: 'qwen3', base_url: 'http://localhost:11434/v1' } } },
            validate_only: true,
          },
        },
      },
      'application/yaml': { file: { summary: 'Check a whole agent.yaml', value: yaml } },
    },
  },
  getAgentConfigSchema: {
    description: 'Every setting of agent.yaml with its description, limits and default. Editors can use it to complete and check the file.',
  },
  getAgentConfigHistory: {
    description: 'Use it to see who changed what. A version can be read, and restored.',
    parameters: { before: '12' },
  },
  getAgentConfigHistoryByVersion: {
    description: 'Take a `version` from `GET /core/v1/agent/config/history`. A version that is not kept is 404.',
  },
  postAgentConfigRestore: {
    description: `Take a \`version\` from \`GET /core/v1/agent/config/history\`. The example only checks: remove \`validate_only\` to restore.

404: the version is not kept. 412: \`if-match\` is not the version in use. 422: this release cannot use the text.`,
    requests: {
      'application/json': {
        check: {
          summary: 'Check whether a version can be restored',
          value: { version: '019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071', validate_only: true },
        },
      },
    },
  },
}
