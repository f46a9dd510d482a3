export { type DemoCredentials, demoCertificate, keepDemoCredentials } from './demo/credentials.ts'
export { demoToken } from './demo/devices.ts'
export { startSimulators } from './demo/simulators.ts'
export { runStandalone } from './standalone.ts'
