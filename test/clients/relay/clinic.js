import { graphql } from 'relay-runtime';

graphql`
  query clinicChartQuery($id: ID!) {
    Patient(id: $id) {
      id
      birthDate
      ...clinicSummary_resource
      ObservationList(_reference: "subject", _sort: "-date", _count: 2) {
        status
        subject {
          resource {
            ...clinicSummary_resource
            ... on Patient {
              birthDate
            }
          }
        }
      }
    }
  }
`;

graphql`
  fragment clinicSummary_resource on Resource {
    id
    meta {
      lastUpdated
    }
    ... on Patient {
      name {
        text
      }
    }
    ... on Group {
      quantity
    }
  }
`;

graphql`
  query clinicMedicationsQuery($patient: String) {
    MedicationRequestList(patient: [$patient], _count: 10) {
      id
      contained {
        __typename
        ...clinicSummary_resource
        ... on Medication {
          id
          code {
            text
          }
        }
      }
      medicationReference {
        resource {
          ... on Medication {
            code {
              text
            }
          }
        }
      }
    }
  }
`;

graphql`
  query clinicDosesQuery($patient: String) {
    MedicationRequestList(patient: [$patient], _count: 10) {
      contained {
        __typename
        ... on Medication {
          id
          amount {
            numerator {
              value
            }
          }
        }
      }
    }
  }
`;

graphql`
  query clinicStatusQuery($id: ID!, $use: NameUse) @relay_test_operation {
    Observation(id: $id) {
      status
      subject {
        resource {
          ... on Patient {
            name(use: $use) {
              text
            }
          }
        }
      }
    }
  }
`;

graphql`
  mutation clinicStatusMutation($id: ID!, $status: ObservationStatus) {
    ObservationUpdate(id: $id, res: { status: $status }) {
      status
    }
  }
`;
