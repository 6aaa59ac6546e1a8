#pragma once

/* What a request's data is, so that its abort finds whose it is. First member of each. */

enum request_kind { REQUEST_CALL, REQUEST_AUTH, REQUEST_HEALTH, REQUEST_UPGRADE, REQUEST_RUNNER };

struct request_data {
    enum request_kind kind;
};
