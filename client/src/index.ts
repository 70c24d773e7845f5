/** The public interface of the client. */
export { createClient, type Client, type ClientOptions } from './client.ts'
export type { ClientTool, ClientTools } from './client-tools.ts'
export { AgentCoreError, BudgetExceededError, type ErrorDetails, type FieldFault } from './error.ts'
export type { Method, PathOf, Reply, RequestOptions, Schema } from './operation.ts'
export type { Exchange } from './transport.ts'
export type { Accepted, AsyncRequest, Callback, Chat, ChatAnswer, ChatOptions, ChatRequest, ChatStreamOptions } from './chat.ts'
export type { Retry, RetryOptions } from './retry.ts'
export type { ApprovalPage, Approvals, Decision, WaitingCall } from './resources/approvals.ts'
export type { Artifact, ArtifactLink, ArtifactPage, ArtifactPlace, Artifacts, SharedArtifact } from './resources/artifacts.ts'
export type { Audit, AuditEvent, AuditFilter, AuditHead, AuditHeadPage, AuditLine, AuditPage } from './resources/audit.ts'
export type { Budget, BudgetFilter, BudgetOverride, BudgetPage, Budgets } from './resources/budgets.ts'
export type { Configuration, ConfigurationFields, Configurations, ConfigurationUpdate, UpdateOptions } from './resources/configuration.ts'
export type {
  AddRunOptions,
  Dataset,
  DatasetPage,
  DatasetPatch,
  Datasets,
  Example,
  ExamplePage,
  ExamplePatch,
  Examples,
  ListedExample,
  NewDataset,
  NewExample,
  Scorer,
} from './resources/datasets.ts'
export type { Evals } from './resources/evals.ts'
export type {
  CreateExperimentOptions,
  Experiment,
  ExperimentPage,
  ExperimentResult,
  ExperimentResultPage,
  Experiments,
  NewExperiment,
  Variant,
  WaitOptions,
} from './resources/experiments.ts'
export type { AccessKey, CreatedKey, KeyPage, KeyRequest, Keys } from './resources/keys.ts'
export type { Memories, Memory, MemoryFilter, MemoryPage } from './resources/memories.ts'
export type {
  AcceptedMessage,
  Feedback,
  FollowOptions,
  OwnerOptions,
  Run,
  RunFilter,
  RunMessages,
  RunPage,
  Runs,
  RunTrace,
  SteerOptions,
} from './resources/runs.ts'
export type {
  ChangeScheduleOptions,
  CreateScheduleOptions,
  Fire,
  FirePage,
  NewSchedule,
  Schedule,
  SchedulePage,
  SchedulePatch,
  SchedulePreview,
  SchedulePreviewRequest,
  Schedules,
  TriggeredSchedule,
  VersionedSchedule,
} from './resources/schedules.ts'
export type {
  CallbackPage,
  Caller,
  ContextFiles,
  LogEntry,
  LogPage,
  AgentModels,
  Metadata,
  Metrics,
  Roles,
  ServiceMethods,
} from './resources/service.ts'
export type {
  CreateSessionOptions,
  NewSession,
  Session,
  SessionFilter,
  SessionPage,
  Sessions,
  SessionSummary,
} from './resources/sessions.ts'
export type { SubAgent, SubAgentRequest, SubAgents } from './resources/sub-agents.ts'
export type { ChangedToolPage, Tool, ToolMethods, ToolRequest, ToolResult, Tools } from './resources/tools.ts'
export type { Chunk, StepProgress } from './stream/chunk.ts'
export type { RunStream, StreamOptions } from './stream/run-stream.ts'
export { verifyCallback, type CallbackEvent, type ReceivedCallback, type VerifiedCallback } from './verify-callback.ts'
