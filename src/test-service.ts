// A service in the test's own process, for hosts and their clients. Nothing here opens a socket.

export {
  createTestService,
  type TestService,
  type TestServiceConfig,
  type TestServiceOptions,
} from './test-service/create-test-service.js';
export {
  testPolicy,
  type PolicyCase,
  type PolicyFailure,
  type PolicyOutcome,
  type PolicyTestReport,
  type PolicyWrite,
  type TestPolicyOptions,
} from './test-service/test-policy.js';
