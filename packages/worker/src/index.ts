export { type Answers, createAnswers } from './answers.ts'
export { type ClaimedJob, claimJob } from './claim-job.ts'
export { channelWorker, runChannelWorker } from './run-channel-worker.ts'
