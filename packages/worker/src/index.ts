export { type ClaimedJob, claimJob } from './claim-job.ts'
export { channelWorker, runChannelWorker } from './run-channel-worker.ts'
